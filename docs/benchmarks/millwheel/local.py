"""A counter on the local engine: batch by batch in turns with a loop in Python, and with keys that stay untouched."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import polars as pl
from attrs import frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput

from docs.benchmarks.millwheel.by_hand import OUTPUT, count_in_a_loop
from docs.benchmarks.millwheel.data import Scale
from docs.benchmarks.millwheel.pipelines import COUNTED
from docs.benchmarks.results import Result
from docs.benchmarks.stream.comparing import BATCHES
from docs.benchmarks.stream.data import DISORDER
from docs.benchmarks.stream.pipelines import READINGS
from flowalg import BoundedOutOfOrderness

THROUGHPUT = "local engine, throughput"
LATENCY = "local engine, small batches"
GROWTH = "local engine, untouched keys"
WARM = 2
"""The batches after the states are open that do not count."""

Batches: TypeAlias = Iterator[pl.DataFrame]


def with_flowalg(paths: Sequence[Path]) -> Batches:
    """The counter on the local engine: the outputs of each batch."""
    frames = Frames(pl.read_parquet(path) for path in paths)
    stream = StreamInput(frames, BoundedOutOfOrderness(timedelta(microseconds=DISORDER)))
    for batch in streaming.batches(COUNTED, {READINGS: stream}):
        yield batch.frame.select("key", "value", pl.col("event_time").to_physical())


@frozen
class Spent:
    """The seconds of a batch, and the processor time of all threads in it."""

    seconds: float
    processor: float


def spend(batches: Batches) -> tuple[Spent, pl.DataFrame]:
    """Runs the next batch."""
    started, processor = time.perf_counter(), time.process_time()
    frame = next(batches)
    return Spent(time.perf_counter() - started, time.process_time() - processor), frame


def run_in_turns(runs: Mapping[str, tuple[Batches, int]], count: int) -> dict[str, list[Spent]]:
    """Runs ``count`` batches of each run in turns, after the first ones, whose number is given, in which states open.

    The first batches do not count. Raises ``ValueError`` if the outputs of two runs differ.
    """
    for batches, opened in runs.values():
        for _ in range(opened):
            next(batches)
    spent: dict[str, list[Spent]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(count):
        outputs = {}
        for name in names if number % 2 else names[::-1]:
            took, frame = spend(runs[name][0])
            outputs[name] = frame.select(pl.col(name).cast(kind) for name, kind in OUTPUT.items()).sort(
                list(OUTPUT)
            )
            spent[name].append(took)
        first, *others = outputs.values()
        if not all(first.equals(other) for other in others):
            raise ValueError(f"the outputs of batch {number} differ: {names}")
    return {name: batches[WARM:] for name, batches in spent.items()}


def _milliseconds(seconds: Sequence[float], quantile: int) -> float:
    return round(1000 * statistics.quantiles(seconds, n=100, method="inclusive")[quantile - 1], 1)


def compare_with_a_loop(scale: Scale, case: str, rows: int, inputs: Sequence[Path]) -> Result:
    """Returns the times of batches of ``rows``, with some of the known keys, which all have a pending timer."""
    opened = scale.opening(scale.known_keys, 0)
    paths = [*opened, *inputs]
    runs = {"flowalg": with_flowalg(paths), "loop": count_in_a_loop(paths)}
    spent = run_in_turns({name: (batches, len(opened)) for name, batches in runs.items()}, len(inputs))
    result: Result = {
        "case": case,
        "rows": rows,
        "known": scale.known_keys,
        "warm_batches": len(inputs) - WARM,
    }
    for name, batches in spent.items():
        seconds = [batch.seconds for batch in batches]
        processor = statistics.median(batch.processor for batch in batches)
        result |= {
            f"{name}_p50_ms": _milliseconds(seconds, 50),
            f"{name}_p99_ms": _milliseconds(seconds, 99),
            f"{name}_per_s": round(rows / statistics.median(seconds)),
            f"{name}_per_s_and_core": round(rows / processor),
        }
    return result


def throughput(scale: Scale) -> list[Result]:
    """Returns the elements per second of large batches."""
    return [compare_with_a_loop(scale, THROUGHPUT, scale.rows, scale.large(scale.known_keys))]


def latency(scale: Scale) -> list[Result]:
    """Returns the times of many small batches."""
    return [compare_with_a_loop(scale, LATENCY, scale.few, scale.small(scale.known_keys))]


def growth(scale: Scale) -> list[Result]:
    """Returns the times of batches with few and with many keys that they do not affect, all with pending timers."""
    runs = {}
    for count in scale.dormant:
        opened = scale.opening(count, scale.keys)
        runs[str(count)] = with_flowalg([*opened, *scale.large(scale.keys)]), len(opened)
    spent = run_in_turns(runs, scale.rounds * BATCHES)
    medians = {name: statistics.median(batch.seconds for batch in batches) for name, batches in spent.items()}
    fewest = medians[str(scale.dormant[0])]
    return [
        {
            "case": f"{GROWTH}, {count:,}",
            "rows": scale.rows,
            "open": count,
            "warm_batches": scale.rounds * BATCHES - WARM,
            "p50_ms": round(1000 * medians[str(count)], 1),
            "growth": round(medians[str(count)] / fewest, 3),
        }
        for count in scale.dormant
    ]
