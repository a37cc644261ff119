"""The results as tables in Markdown, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from docs.benchmarks.marked_tables import fill_tables
from docs.benchmarks.millwheel import local, on_spark
from docs.benchmarks.millwheel.latency import LOCAL, PRODUCTIONS, lag_case, latency_case
from docs.benchmarks.millwheel.latency_on_spark import SPARK
from docs.benchmarks.millwheel.pipelines import STAGES
from docs.benchmarks.results import Result

PAGE: Final = Path(__file__).parents[2] / "millwheel.md"
ByCase: TypeAlias = Mapping[str, Result]
"""The results by case."""

ENGINES: Final = (LOCAL, SPARK)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _header(*names: str, texts: int = 1) -> Iterator[str]:
    yield _row(*names)
    yield _row(*(["---"] * texts), *(["---:"] * (len(names) - texts)))


def rivals(by_case: ByCase) -> Iterator[str]:
    """The counter and the deduplication on Spark, with their rivals."""
    yield from _header(
        "Spark streaming, seconds per batch", "flowalg", "rival", "", "ratio", "at most", texts=1
    )
    comparisons = (
        (on_spark.COUNTER, "tws", "`transformWithState`", "a counter with a timer", 0.2),
        (on_spark.DEDUPLICATE, "native", "`dropDuplicatesWithinWatermark`", "`deduplicate`", 1.3),
    )
    for case, rival, rival_name, name, most in comparisons:
        if case in by_case:
            result = by_case[case]
            took, ratio = result[f"{rival}_s"], result[f"vs_{rival}"]
            yield _row(name, result["flowalg_s"], rival_name, took, ratio, most)


def throughput(by_case: ByCase) -> Iterator[str]:
    """The counter on the local engine."""
    yield from _header(
        "elements per batch",
        "p50 ms",
        "p99 ms",
        "elements per second",
        "per second and core",
        "a loop: per second",
        texts=0,
    )
    for case in (local.THROUGHPUT, local.LATENCY):
        if case in by_case:
            result = by_case[case]
            rates = ("flowalg_per_s", "flowalg_per_s_and_core", "loop_per_s")
            yield _row(
                f"{result['rows']:,}",
                result["flowalg_p50_ms"],
                result["flowalg_p99_ms"],
                *(f"{result[rate]:,}" for rate in rates),
            )


def growth(by_case: ByCase) -> Iterator[str]:
    """Batches beside keys that they do not affect."""
    yield from _header(
        "untouched keys", "local engine, ms", "growth", "Spark, s", "growth", "recovery on Spark, s", texts=0
    )
    counts = sorted(
        {int(str(result["open"])) for result in by_case.values() if "open" in result},
    )
    for count in counts:
        here = by_case.get(f"{local.GROWTH}, {count:,}", {})
        there = by_case.get(f"{on_spark.GROWTH}, {count:,}", {})
        cells = [here.get("p50_ms"), here.get("growth")]
        cells += [there.get(name) for name in ("flowalg_s", "vs_fewest", "recovery_s")]
        yield _row(f"{count:,}", *("" if cell is None else cell for cell in cells))


def latencies(by_case: ByCase) -> Iterator[str]:
    """The latency of records."""
    yield from _header("engine", "stages", "output counts", "median ms", "p95 ms", "p99 ms", texts=3)
    for engine in ENGINES:
        for stages in STAGES:
            for production in PRODUCTIONS:
                case = latency_case(engine, stages, production)
                if case in by_case:
                    quantiles = (by_case[case][name] for name in ("p50_ms", "p95_ms", "p99_ms"))
                    yield _row(engine, stages, production, *quantiles)


def checkpoints(by_case: ByCase) -> Iterator[str]:
    """The time that Spark takes for its logs."""
    yield from _header("stages", "micro-batch, ms", "log of inputs, ms", "commit, ms", texts=0)
    for stages in STAGES:
        case = latency_case(SPARK, stages, PRODUCTIONS[-1])
        if case in by_case:
            phases = ("triggerExecution_ms", "walCommit_ms", "commitOffsets_ms")
            yield _row(stages, *(f"{by_case[case][phase]:.0f}" for phase in phases))


def lags(by_case: ByCase) -> Iterator[str]:
    """The lag of the watermark at each stage."""
    by_engine = {engine: by_case[lag_case(engine)] for engine in ENGINES if lag_case(engine) in by_case}
    yield from _header("stage", *(f"{engine}, s" for engine in by_engine))
    medians = [_medians(result) for result in by_engine.values()]
    for stage in medians[0] if medians else ():
        yield _row(stage, *(by_stage.get(stage, "") for by_stage in medians))


def _medians(result: Result) -> Mapping[str, float]:
    medians = result["median_s"]
    assert isinstance(medians, dict)
    return medians


def caches(by_case: ByCase) -> Iterator[str]:
    """The time of a batch by the size of the cache."""
    yield from _header("cache, part of the state", "cache, MiB", "seconds per batch", texts=0)
    for part in on_spark.PARTS:
        case = on_spark.cache_case(part)
        if case in by_case:
            yield _row(part, by_case[case]["cache_mib"], by_case[case]["flowalg_s"])


TABLES: Final[Mapping[str, Callable[[ByCase], Iterator[str]]]] = {
    "rivals": rivals,
    "throughput": throughput,
    "growth": growth,
    "latency": latencies,
    "checkpoints": checkpoints,
    "lag": lags,
    "cache": caches,
}

PICTURES: Final = {
    "latency": "The part of the records that are output within a time: on the local engine and on Spark, through one "
    "stage and three.",
    "lag": "The lag of the watermark at each stage over time, on the local engine and on Spark.",
    "cache": "The time of a batch by the size of the cache.",
}
"""The pictures that follow tables, as texts for readers who do not see them."""


def page_with(text: str, results: Sequence[Result]) -> str:
    """Returns a page whose tables have the results, with their pictures; a table without results stays as it is."""
    by_case = {str(result["case"]): result for result in results}

    def lines_of(name: str) -> Sequence[str]:
        lines = list(TABLES[name](by_case))
        if len(lines) <= 2:
            return ()
        picture = ["", f"![{PICTURES[name]}](pictures/millwheel-{name}.svg)"] if name in PICTURES else []
        return lines + picture

    return fill_tables(text, lines_of)
