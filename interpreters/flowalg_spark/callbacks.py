"""Functions that Spark calls in the driver, such as sinks and observers: Spark waits until each returns or raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flowalg.data.errors import UserFunctionError, describe_raised


@contextmanager
def exits_as_errors(function: str) -> Iterator[None]:
    """Raises ``UserFunctionError`` for an error that ends a thread, such as the ``SystemExit`` of ``sys.exit()``.

    It would end the thread that has to answer Spark, which would wait for the answer forever. ``function`` is what
    Spark calls, for the message.
    """
    try:
        yield
    except Exception:
        raise
    except BaseException as stop:
        raise UserFunctionError(f"{function} raised {describe_raised(stop)}") from stop
