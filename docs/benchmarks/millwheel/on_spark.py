"""Computations on Spark streaming, in turns with Spark's own operators; untouched keys; and the cache of the state."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flowalg_spark import stage_metrics
from pyspark.sql import SparkSession

from docs.benchmarks.millwheel.by_hand import drop_duplicates, with_processor
from docs.benchmarks.millwheel.data import Scale
from docs.benchmarks.millwheel.pipelines import COUNTED, UNIQUE, WITHIN
from docs.benchmarks.results import Result
from docs.benchmarks.stream.comparing import compare, compare_states, median_seconds, run_in_turns
from docs.benchmarks.stream.queries import Case, Rival, compile_rival
from docs.benchmarks.stream.running import add_files, continue_query, start_query

COUNTER: Final = "Spark streaming, counter"
DEDUPLICATE: Final = "Spark streaming, deduplicate"
GROWTH: Final = "Spark streaming, untouched keys"
CACHE: Final = "Spark streaming, state cache"
SHARDS: Final = 8
"""The shards of the query whose cache is limited: the cache keeps whole shards."""
PARTS: Final = (0.0, 0.25, 0.5, 1.0, 2.0)
"""The sizes of the cache of a worker, as parts of the state."""


def counter_case(rows: int) -> Case:
    """Returns the counter, and a processor by hand."""
    return Case(COUNTER, rows, {"flowalg": compile_rival(COUNTED), "tws": with_processor}, complete=True)


def deduplicate_case(rows: int) -> Case:
    """Returns ``deduplicate``, and Spark's own deduplication."""
    ours = compile_rival(UNIQUE, delay=WITHIN)
    return Case(DEDUPLICATE, rows, {"flowalg": ours, "native": drop_duplicates}, complete=True)


def counter(spark: SparkSession, scale: Scale, scratch: Path) -> list[Result]:
    """Returns the times of the counter and its rival."""
    return [compare(spark, counter_case(scale.rows), scale.large(scale.known_keys), scratch)]


def deduplicate(spark: SparkSession, scale: Scale, scratch: Path) -> list[Result]:
    """Returns the times of ``deduplicate`` and its rival."""
    return [compare(spark, deduplicate_case(scale.rows), scale.sent_twice(), scratch)]


def growth(spark: SparkSession, scale: Scale, scratch: Path) -> list[Result]:
    """Returns the times of batches with few and with many keys that they do not affect, all with pending timers."""
    seeds = {count: scale.opening(count, scale.keys) for count in scale.dormant}
    inputs = scale.large(scale.keys)
    return compare_states(spark, GROWTH, compile_rival(COUNTED), seeds, inputs, scale.rows, scratch)


def cache(spark: SparkSession, scale: Scale, scratch: Path) -> list[Result]:
    """Returns the times of batches with caches of several sizes, over a state of all known keys."""
    add_files(scale.opening(scale.known_keys, 0), scratch)
    size = _open_state(spark, scratch)
    limits = {part: int(part * size) for part in PARTS}
    for part in PARTS:
        shutil.copytree(scratch / "flowalg-checkpoint", scratch / f"{part}-checkpoint")

    def rival(part: float) -> Rival:
        return compile_rival(COUNTED, shards=SHARDS, state_cache_bytes=limits[part])

    warm, _ = run_in_turns(
        PARTS,
        scale.large(scale.known_keys),
        [scratch],
        lambda part: continue_query(spark, rival(part), str(part), scratch),
    )
    return [
        {
            "case": cache_case(part),
            "rows": scale.rows,
            "known": scale.known_keys,
            "part": part,
            "cache_mib": round(limits[part] / (1 << 20), 1),
            "state_mib": round(size / (1 << 20), 1),
            "warm_batches": len(batches),
            "flowalg_s": round(median_seconds(batches), 3),
        }
        for part, batches in warm.items()
    ]


def cache_case(part: float) -> str:
    """Returns the name of a case."""
    return f"{CACHE}, {part} of the state"


def _open_state(spark: SparkSession, scratch: Path) -> int:
    """Runs the counter over the files that open the states of its keys; returns the size of the state in bytes."""
    query = start_query(spark, compile_rival(COUNTED, shards=SHARDS, metrics=True), "flowalg", scratch)
    try:
        query.awaitTermination()
        progress = query.lastProgress
        assert progress is not None, "the query has run"
        return sum(stage.state_bytes for stage in stage_metrics(progress))
    finally:
        query.stop()


def names(dormant: Sequence[int]) -> list[str]:
    """Returns the names of all cases."""
    untouched = [f"{GROWTH}, {count:,}" for count in dormant]
    return [COUNTER, DEDUPLICATE, *untouched, *map(cache_case, PARTS)]
