"""Readings as text, and the pipelines and oracles that several jobs share."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from flowalg import (
    FOREVER,
    KV,
    BoundedOutOfOrderness,
    FixedWindows,
    PCollection,
    Sum,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
)
from flowalg.triggers.syntax import DEFAULT_TRIGGER
from flowalg_laws.conformance.jobs.job import Answer, Span, fixed, grouped
from flowalg_laws.conformance.jobs.replay import Feed
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point

_READING: Final = re.compile(r"(\w+)=(-?\d+)@(\d+)(?: seen (\d+))?")

TWO_MINUTES = BoundedOutOfOrderness(timedelta(minutes=2))
FIVE = FixedWindows(timedelta(minutes=5))


def readings(line: str) -> tuple[Reading, ...]:
    """``11: a=3@4, b=4@6``: seen at minute 11, the value 3 of a at minute 4, and so on."""
    seen, _, text = line.partition(":")
    found = _READING.findall(text)
    return tuple(
        Reading(key, int(value), point(int(at)), point(int(own or seen))) for key, value, at, own in found
    )


def feed(
    *lines: str,
    policy: WatermarkPolicy = TWO_MINUTES,
    partition: str | None = None,
    signals: dict[int, frozenset[str]] | None = None,
) -> Feed[Reading]:
    """Micro-batches of readings, a line for each."""
    batches = tuple(map(readings, lines))
    return Feed(READINGS, Reading, batches, policy, partition=partition, signals=signals or {})


LINES: Final = (
    "10: a=1@0, b=2@1",
    "11: a=3@4, b=4@6",
    "12: a=5@7",
    "13: a=6@2, b=7@8",
    "14: b=8@13, a=9@3",
)
"""A few readings. Under ``TWO_MINUTES`` the watermark goes to -1, 4, 5, 6 and 11: the last two bring late ones of a."""

SOME = feed(*LINES)


def summed(
    trigger: Trigger = DEFAULT_TRIGGER, windows: WindowFn = FIVE, **options: object
) -> PCollection[KV[str, int]]:
    """The sum of each key and window, under a trigger; the lateness is for ever unless it is given."""
    given = {"allowed_lateness": FOREVER, **options}
    return apply_windowing(VALUES, WindowingStrategy(windows, trigger, **given)).combine_per_key(Sum())  # type: ignore[arg-type]


def five(reading: Reading) -> list[Span]:
    """The five minutes that a reading is in."""
    return [fixed(reading.at, 5)]


def always(reading: Reading) -> list[Span]:
    """All of time."""
    return [None]


def key(reading: Reading) -> str:
    """The key of a reading."""
    return reading.key


def sums_in_fives(readings: list[Reading]) -> Answer:
    """The sum of each key and five minutes."""
    for one, window, some in grouped(readings, key, five):
        yield KV(one, sum(reading.value for reading in some)), window


__all__ = [
    "FIVE",
    "LINES",
    "SOME",
    "TWO_MINUTES",
    "always",
    "feed",
    "five",
    "key",
    "readings",
    "summed",
    "sums_in_fives",
]
