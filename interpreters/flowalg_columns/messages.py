"""Messages about the records of a source."""

from __future__ import annotations

from flowalg.data.shapes import TIMESTAMP, EnumOf, Shape


def null_message(source: str, path: str, shape: Shape, row: int | None = None) -> str:
    """Returns the message for a null that the shape of a field does not allow; ``row`` is its row, from 1."""
    place = "" if row is None else f" in row {row}"
    optional = f"declare it as {shape} | None"
    if shape == TIMESTAMP:
        optional = f"if it is not the event time, {optional}"
    return (
        f"source {source!r}: {path} must be of type {shape}; got null{place}; remove such rows (a stream can, with "
        f"dead_letters=True), or {optional}"
    )


def member_message(source: str, path: str, shape: EnumOf) -> str:
    """Returns the message for a name that an enum lacks, up to that name."""
    names = ", ".join(shape.cls.__members__)
    return f"source {source!r}: {path} must be a member of {shape} ({names}); got "


__all__ = ["member_message", "null_message"]
