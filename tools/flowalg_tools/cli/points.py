"""Points in time, windows and keys as one writes them on the command line."""

from __future__ import annotations

import ast
from datetime import UTC, datetime

from flowalg import ArgumentError, Window, event_time
from flowalg.data.errors import ElementError
from flowalg.data.shapes import Shape
from flowalg.data.values import conform


def point_of(text: str, argument: str) -> datetime:
    """A point in time by ISO 8601; without an offset it is in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentError(
            argument, text, "a point in time by ISO 8601, such as 2013-01-31T17:00:00Z", why=str(error)
        ) from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def window_of(text: str, argument: str) -> Window:
    """A window by its start and end: ``2013-01-31T17:00Z/2013-01-31T18:00Z``."""
    start, slash, end = text.partition("/")
    if not slash:
        raise ArgumentError(argument, text, "a start and an end, such as 2013-01-31T17:00Z/2013-01-31T18:00Z")
    return Window.of(*(event_time(point_of(one, argument), argument=argument) for one in (start, end)))


def key_of(text: str, shape: Shape | None, argument: str) -> object:
    """A key: a text as it is, anything else as Python writes it."""
    if shape is None:
        return _literal(text)
    for value in (text, _literal(text)):
        try:
            return conform(value, shape, argument)
        except ElementError:
            continue
    raise ArgumentError(argument, text, f"a {shape}")


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


__all__ = ["key_of", "point_of", "window_of"]
