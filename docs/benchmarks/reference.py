"""The time of the reference interpreter on the flights at several sizes, which grows linearly.

`make bench-reference` runs 10,000, 100,000 and 400,000 elements. A year has 328,521; further elements repeat the year a
year later. There is an instant for each minute in which flights left. The pipelines are that of the flights, and one
with early and late firings and retractions. It prints seconds and elements per second, and asserts nothing.
``--small`` runs 1,000 elements.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import timedelta

import flowalg_reference as reference
from flights.data import clean, read_flights
from flights.pipeline import HOUR, LATENESS, WATERMARK, Departure, departures, hourly

from docs.benchmarks.small import add_small
from flowalg import (
    Accumulation,
    AtCount,
    AtPeriod,
    AtWatermark,
    Count,
    FixedWindows,
    PCollection,
    Timeline,
)

SIZES = (10_000, 100_000, 400_000)
YEAR = timedelta(days=365)

corrected = (
    departures.key_by(lambda d: d.origin)
    .window(
        FixedWindows(HOUR),
        trigger=AtWatermark()
        .with_early_firings(AtPeriod(timedelta(minutes=10)))
        .with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=LATENESS,
    )
    .combine_per_key(Count())
)


def read_records(size: int) -> list[Departure]:
    """Returns ``size`` departures in the order of their actual time."""
    year = [Departure(**row) for row in clean(read_flights()).departed.to_pylist()]
    next_year = [Departure(d.origin, d.delay, d.scheduled + YEAR, d.actual + YEAR) for d in year]
    return sorted([*year, *next_year], key=lambda d: d.actual)[:size]


def measure_seconds(pipeline: PCollection[object], timeline: Timeline[Departure]) -> float:
    """Returns the time of a run."""
    start = time.perf_counter()
    reference.run(pipeline, {departures: timeline})
    return time.perf_counter() - start


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each pipeline and size."""
    parser = ArgumentParser(description=__doc__)
    add_small(parser)
    sizes = (1_000,) if parser.parse_args(arguments).small else SIZES
    everything = read_records(max(sizes))
    for name, pipeline in (("default trigger", hourly), ("early, late, retracting", corrected)):
        for size in sizes:
            timeline = Timeline.from_records(
                departures,
                everything[:size],
                processing_time=lambda d: d.actual,
                watermark=WATERMARK,
                every=timedelta(minutes=1),
            )
            elapsed = measure_seconds(pipeline, timeline)
            print(f"{name:<24} {size:>8,} elements  {elapsed:6.1f} s  {size / elapsed:>9,.0f} per second")


if __name__ == "__main__":
    main(sys.argv[1:])
