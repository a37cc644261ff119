"""The failure of a query as the error that caused it, in one line, with Spark's own exception as its cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException

from flowalg.data import errors
from flowalg.data.errors import (
    ElementError,
    FlowalgError,
    UserFunctionError,
    ValueRangeError,
    with_message,
)

_IN_COLUMNS: Final = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: \w+)*;?$", re.MULTILINE)
_IN_PYTHON: Final = re.compile(r"^flowalg\.data\.errors\.(\w+): (.*)$", re.MULTILINE)

_OF_ELEMENTS: Final = ("source ", "as_singleton() ", "as_map() ")
"""How the messages of columns begin that are about the elements of a source or of a side input."""

_KINDS: Final[Mapping[str, type[FlowalgError]]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, FlowalgError)
}


@contextmanager
def raise_causes() -> Iterator[None]:
    """Replaces an exception of Spark by the error of flowalg, or of a user-defined function, that failed the query."""
    try:
        yield
    except PySparkException as failure:
        cause = cause_of(str(failure))
        if cause is None:
            raise
        raise cause from failure


def cause_of(failure: str) -> FlowalgError | None:
    """Returns the error that an exception of Spark reports, or ``None`` if it reports another failure."""
    raised = _IN_PYTHON.findall(failure)
    if raised:
        name, message = raised[-1]
        kind = _KINDS.get(name)
        return FlowalgError(f"{name}: {message}") if kind is None else with_message(kind, message)
    in_columns = _IN_COLUMNS.search(failure)
    if in_columns is None:
        return None
    message = in_columns[1]
    if message.startswith(_OF_ELEMENTS):
        return ElementError(message)
    return ValueRangeError(message) if "overflows 64 bits" in message else UserFunctionError(message)
