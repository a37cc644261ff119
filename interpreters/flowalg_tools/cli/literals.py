"""Parses times, windows and keys of the command line."""

from __future__ import annotations

import ast
from datetime import UTC, datetime

from flowalg import Window, event_time
from flowalg.data.errors import ElementError
from flowalg.data.shapes import Shape
from flowalg.data.values import conform
from flowalg.errors import ArgumentError


def parse_time(text: str, argument: str) -> datetime:
    """Returns a time in ISO 8601; the default offset is UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentError(
            argument, text, "a time in ISO 8601, such as 2013-01-31T17:00:00Z", why=str(error)
        ) from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def parse_window(text: str, argument: str) -> Window:
    """Returns a window as its start and end: ``2013-01-31T17:00Z/2013-01-31T18:00Z``."""
    start, slash, end = text.partition("/")
    if not slash:
        raise ArgumentError(argument, text, "a start and an end, such as 2013-01-31T17:00Z/2013-01-31T18:00Z")
    return Window(*(event_time(parse_time(bound, argument), argument=argument) for bound in (start, end)))


def parse_key(text: str, shape: Shape | None, argument: str) -> object:
    """Returns a key: the text itself if the keys are texts, otherwise a Python literal."""
    if shape is None:
        return _literal(text)
    for value in (text, _literal(text)):
        try:
            return conform(value, shape, argument)
        except ElementError:
            continue
    raise ArgumentError(argument, text, f"of type {shape}")


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return text
