"""Readings as text, and pipelines and oracles that several jobs share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from flowalg import FOREVER, KV, BoundedOutOfOrderness, FixedWindows, PCollection, Sum
from flowalg.runs.signals import AnySignal
from flowalg.triggers import Trigger
from flowalg.triggers.syntax import DEFAULT_TRIGGER
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import WindowFn, WindowingStrategy
from flowalg_laws.conformance.jobs.job import Span, fixed, grouped
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.replay import Feed
from flowalg_laws.strategies.times import point

_READING: Final = re.compile(r"(\w+)=(-?\d+)@(\d+)(?: seen (\d+))?")

TWO_MINUTES = BoundedOutOfOrderness(timedelta(minutes=2))
FIVE = FixedWindows(timedelta(minutes=5))


def readings(line: str) -> tuple[Reading, ...]:
    """Parses readings: ``11: a=3@4, b=4@6`` arrive at minute 11, a with value 3 and event time 4, b with 4 and 6."""
    arrival, _, text = line.partition(":")
    matches = _READING.findall(text)
    return tuple(
        Reading(key, int(value), point(int(at)), point(int(seen or arrival)))
        for key, value, at, seen in matches
    )


def feed(
    *lines: str,
    policy: WatermarkPolicy = TWO_MINUTES,
    partition: str | None = None,
    signals: dict[int, frozenset[AnySignal]] | None = None,
) -> Feed[Reading]:
    """Makes a feed with a micro-batch of readings for each line."""
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


def sum_in_windows(
    trigger: Trigger = DEFAULT_TRIGGER, windows: WindowFn = FIVE, **options: object
) -> PCollection[KV[str, int]]:
    """Returns the sum of each key and window, with a trigger; by default the allowed lateness is unlimited."""
    arguments = {"allowed_lateness": FOREVER, **options}
    return apply_windowing(VALUES, WindowingStrategy(windows, trigger, **arguments)).combine_per_key(Sum())  # type: ignore[arg-type]


def five(reading: Reading) -> list[Span]:
    """Returns the five-minute window of a reading."""
    return [fixed(reading.at, 5)]


def always(reading: Reading) -> list[Span]:
    """Returns the global window."""
    return [None]


def key(reading: Reading) -> str:
    """Returns the key of a reading."""
    return reading.key


def sums_in_fives(readings: list[Reading]) -> Iterator[tuple[KV[str, int], Span]]:
    """The sum of each key and five-minute window."""
    for name, window, group in grouped(readings, key, five):
        yield KV(name, sum(reading.value for reading in group)), window
