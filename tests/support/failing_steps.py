"""Steps that fail on some elements, in columns and in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from attrs import frozen

from flowalg import PCollection, Source
from flowalg.data import INGRESS_TIME


@frozen
class Reading:
    """A reading that functions may fail on."""

    text: str
    n: int
    m: int


READINGS = Source("readings", Reading, event_time=INGRESS_TIME)


def parsed(text: str) -> int:
    """Reads a number; runs in Python."""
    return int(text)


def halves(reading: Reading) -> bool:
    """Whether a quotient is even; runs in Python."""
    return parsed(reading.text) % reading.m == 0


def moved(reading: Reading) -> datetime:
    """An event time that may be out of range; runs in Python."""
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=400 * parsed(reading.text) ** 5)


def digits(reading: Reading) -> Iterable[int]:
    """The digits of a text; runs in Python."""
    return [parsed(digit) for digit in reading.text]


def wrong(reading: Reading) -> int:
    """A result of another type for some; runs in Python."""
    return reading.n if reading.m else reading.text  # type: ignore[return-value]  # what a user may do


STEPS: dict[str, Callable[[PCollection[Reading]], PCollection[object]]] = {
    "a map in columns": lambda c: c.map(lambda r: (r.n, 100 // r.m)),
    "a map of a tuple of several failures": lambda c: c.map(lambda r: (r.n % r.m, 7 // r.n, r.text)),
    "a map that overflows": lambda c: c.map(lambda r: 2**63 - r.n),
    "a map in Python": lambda c: c.map(lambda r: parsed(r.text)),
    "a map in Python of another type": lambda c: c.map(wrong),
    "a map partly in Python": lambda c: c.map(lambda r: (r.n // r.m, parsed(r.text), 7 // r.n)),
    "a map in Python of an argument in columns that fails": lambda c: c.map(
        lambda r: parsed(str(r.n // r.m))
    ),
    "a filter in columns": lambda c: c.filter(lambda r: 100 // r.m > r.n),
    "a filter in Python": lambda c: c.filter(halves),
    "event times in columns": lambda c: c.with_timestamps(
        lambda r: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=9**6 * r.n // r.m)
    ),
    "event times in Python": lambda c: c.with_timestamps(moved),
    "keys": lambda c: c.key_by(lambda r: r.n // r.m),
    "values of pairs": lambda c: c.key_by(lambda r: r.n).map_values(lambda r: r.n // r.m),
    "keys in Python": lambda c: c.key_by(lambda r: parsed(r.text)),
    "values of pairs in Python": lambda c: c.key_by(lambda r: r.n).map_values(lambda r: parsed(r.text)),
    "a comprehension whose items fail": lambda c: c.flat_map(lambda r: [r.n // x for x in [r.m, r.n]]),
    "a comprehension whose condition fails": lambda c: c.flat_map(
        lambda r: [x for x in [r.m, r.n, 2] if 6 // x > 1]
    ),
    "a comprehension over a list that fails": lambda c: c.flat_map(lambda r: [r.n // r.m, r.n]),
    "a flat_map in Python": lambda c: c.flat_map(digits),
    "a chain": lambda c: (
        c.filter(lambda r: 6 // r.n > -2)
        .map(lambda r: (r.n // r.m, r.text))
        .map(lambda pair: parsed(pair[1]))
    ),
}
