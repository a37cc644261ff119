"""Messages about the records of a source, the same wherever the records are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import assert_never

from returns.maybe import Some

from flowalg.data.shapes import (
    DAY,
    TIMESTAMP,
    EnumOf,
    ListOf,
    MapOf,
    MaybeOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
)
from flowalg.data.time import BETWEEN, EPOCH, MAX_TIME, MIN_TIME


def null_message(source: str, path: str, shape: Shape, row: int | None = None) -> str:
    """Returns the message for a null that the shape of a field does not allow; ``row`` is its row, from 1."""
    place = "" if row is None else f" in row {row}"
    optional = f"declare it as {shape} | None"
    if shape == TIMESTAMP:
        optional = f"if it is not the event time, {optional}"
    return (
        f"source {source!r}: {path} must be of type {shape}; got null{place}; remove such rows, keep them apart with "
        f"dead_letters=True, or {optional}"
    )


def member_message(source: str, path: str, shape: EnumOf) -> str:
    """Returns the message for a name that an enum lacks, up to that name."""
    names = ", ".join(shape.cls.__members__)
    return f"source {source!r}: {path} must be a member of {shape} ({names}); got "


def sum_message(source: str, path: str, shape: SumOf) -> str:
    """Returns the message for a sum of which not exactly one member is set, up to how many are."""
    tags = ", ".join(member.name for member in reversed(shape.members))
    return f"source {source!r}: exactly one of {path}.{{{tags}}} must not be null; got "


def utf_8_message(source: str, path: str) -> str:
    """Returns the message for a text with bytes that are not UTF-8, up to the text."""
    return f"source {source!r}: {path} must be text in UTF-8; got, with U+FFFD for what is not, "


def years_message(source: str, path: str, shape: Shape) -> str:
    """Returns the message for a time or day that Python has no value for, up to its number since the epoch."""
    return f"source {source!r}: {years_phrase(path, shape)}"


def years_phrase(path: str, shape: Shape) -> str:
    """Returns what such a time or day must be."""
    unit = "days" if shape == DAY else "microseconds"
    return f"{path} must be in the years 1 to 9999 of UTC; got, in {unit} since the epoch, "


def range_message(source: str, micros: int) -> str:
    """Returns the message for an event time, in microseconds since the epoch, that no window contains."""
    low, high = (bound.datetime.isoformat().replace("+00:00", "Z") for bound in (MIN_TIME, MAX_TIME))
    try:
        got = (
            (EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds").replace("+00:00", "Z")
        )
    except OverflowError:
        got = f"{micros} microseconds since the epoch"
    return f"source {source!r}: the event time must be in [{low}, {high}); got {got}"


def arrival_message(source: str) -> str:
    """Returns the message for a processing time out of range, up to its number since the epoch."""
    return f"source {source!r}: StreamInput.processing_time must be {BETWEEN}; got, in microseconds since the epoch, "


def no_time_message(source: str) -> str:
    """Returns the message for a record without an event time."""
    return f"source {source!r}: the event time must not be null"


def missing_or_unknown(source: str, record: object, shape: Shape) -> str | None:
    """Returns the message for the first null or unknown name of an enum in a record; ``None`` without one.

    These are the faults of records that columns can hold. A record of another class has no message here, since
    ``conform`` reports it.
    """
    if not isinstance(shape, RecordOf):
        return next(_faults(source, "value", record, shape), None)
    if not isinstance(record, shape.cls):
        return None
    return next(_faults_of_parts(source, "", record, shape), None)


def _faults(source: str, path: str, value: object, shape: Shape) -> Iterator[str]:
    if isinstance(shape, OptionalOf):
        if value is not None:
            yield from _faults(source, path, value, shape.of)
        return
    if isinstance(shape, MaybeOf):
        if isinstance(value, Some):
            yield from _faults(source, path, value.unwrap(), shape.of)
        return
    if value is None:
        yield null_message(source, path, shape)
        return
    match shape:
        case EnumOf(cls=cls):
            if isinstance(value, str) and not isinstance(value, cls):
                yield f"{member_message(source, path, shape)}{value}"
        case ListOf(of=inner) | SetOf(of=inner):
            items = value if isinstance(value, Iterable) else ()
            brackets = "[…]" if isinstance(shape, ListOf) else "{…}"
            for item in items:
                yield from _faults(source, f"{path}{brackets}", item, inner)
        case RecordOf():
            if isinstance(value, shape.cls):
                yield from _faults_of_parts(source, f"{path}.", value, shape)
        case TupleOf(items=shapes):
            if isinstance(value, tuple) and len(value) == len(shapes):
                for number, (item, inner) in enumerate(zip(value, shapes, strict=True), start=1):
                    yield from _faults(source, f"{path}._{number}", item, inner)
        case SumOf(members=members):
            position = shape.position(value)
            if position is not None:
                yield from _faults(source, f"{path}.{members[position].name}", value, members[position].shape)
            elif isinstance(value, Mapping):
                yield f"{sum_message(source, path, shape)}{sum(part is not None for part in value.values())}"
        case Scalar():
            # Columns hold times and days that Python has no value for.
            if shape in (TIMESTAMP, DAY) and type(value) is int:
                yield f"{years_message(source, path, shape)}{value}"
        case MapOf():
            return
        case _:
            assert_never(shape)


def _faults_of_parts(source: str, prefix: str, record: object, shape: RecordOf) -> Iterator[str]:
    for field in shape.fields:
        yield from _faults(source, f"{prefix}{field.name}", getattr(record, field.attribute), field.shape)
