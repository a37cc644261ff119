"""Errors of user-defined functions that see a whole group: they name its key and, where it is known, its window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flowalg.data.errors import FlowalgError, format_value, renamed
from flowalg.data.time import EventTime
from flowalg.windows.window import Window


def in_group(error: FlowalgError, key: object, window: Window | EventTime | None = None) -> FlowalgError:
    """Returns an error with the key and the window of the group in which it was raised.

    If only the start of the window is known, ``window`` is that.
    """
    where = "" if window is None else f", its window {window}"
    if isinstance(window, EventTime):
        where = f", its window starts at {window}"
    named = renamed(error, f"{error}; the key of the group is {format_value(key)}{where}")
    named.__cause__ = error.__cause__
    return named


@contextmanager
def errors_in_group(key: object, window: Window | None = None) -> Iterator[None]:
    """Adds the key and the window of a group to the errors of user-defined functions."""
    try:
        yield
    except FlowalgError as error:
        raise in_group(error, key, window) from error.__cause__
