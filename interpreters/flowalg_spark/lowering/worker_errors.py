"""The errors of functions in Spark's Python workers, which send them to Spark as UTF-8."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from traceback import format_exception

import pyarrow as pa
from attrs import frozen
from flowalg_columns.values import AnyArray

from flowalg.data.errors import FlowalgError, UserFunctionError, describe_raised, with_message
from flowalg.data.json_text import escape_surrogates


@contextmanager
def send_errors() -> Iterator[None]:
    """Replaces an error that ends a process, such as ``SystemExit``, by one that says that a function raised it.

    It also replaces an error whose text or causes have lone surrogates, which UTF-8 cannot encode, by one that escapes
    them: a worker that cannot encode an error sends nothing, and Spark waits for it for ever.
    """
    try:
        yield
    except GeneratorExit:  # nobody asks for more batches
        raise
    except BaseException as error:
        if not isinstance(error, Exception) or isinstance(error, MemoryError):
            text = f"a function raised {describe_raised(error)} in a worker of Spark"
            raise UserFunctionError(text) from error
        if _can_encode("".join(format_exception(error))):
            raise
        is_known = isinstance(error, FlowalgError)
        text = escape_surrogates(str(error) if is_known else describe_raised(error))
        raise with_message(type(error) if is_known else UserFunctionError, text) from None


def _can_encode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@frozen
class SentBatches:
    """A function of batches for ``mapInArrow``, whose errors Spark receives."""

    function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields what the function does."""
        with send_errors():
            yield from self.function(batches)


@frozen
class SentArrays:
    """A function of arrays for ``arrow_udf``, whose errors Spark receives."""

    function: Callable[..., AnyArray]

    def __call__(self, *arrays: AnyArray) -> AnyArray:
        """Returns what the function does."""
        with send_errors():
            return self.function(*arrays)
