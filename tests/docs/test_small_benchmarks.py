"""Every benchmark that a page cites runs over small data, with equal outputs of its rivals, and keeps no results.

The tests catch a case that fails, a comparison of what need not be equal, and a small run that changes what pages are
made of. They state no times.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from docs.benchmarks.local import __main__ as bench_local
from docs.benchmarks.local.streaming import tables
from docs.benchmarks.small import BENCH, extent
from docs.benchmarks.stream.comparing import check, without_processing_time
from docs.benchmarks.stream.data import files
from docs.benchmarks.stream.queries import CASES
from tests.components import broker
from tests.components.jars import missing_jars
from tests.support.programs import HOURS, run_program

ROOT = Path(__file__).parents[2]
WITHOUT_SPARK = ["reference", "local"]
ON_SPARK = ["batch --more", "batch.python_rows", "stream", "millwheel", "depth", "nexmark", "dirty"]


def run_small(name: str) -> None:
    """Runs a benchmark with ``--small``; it must end well, and leave the results as they are."""
    before = kept()
    command = [sys.executable, "-m", *f"docs.benchmarks.{name}".split(), "--small"]
    finished = run_program(command, cwd=ROOT, seconds=HOURS)
    assert finished.returncode == 0, finished.stdout + finished.stderr[-4_000:]
    assert kept() == before


def kept() -> dict[str, str]:
    """Returns the results of the benchmarks that were measured here."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(BENCH.glob("*.json"))}


@pytest.mark.thorough
@pytest.mark.parametrize("name", WITHOUT_SPARK)
def test_a_benchmark_without_spark_runs_over_small_data(name: str) -> None:
    """All cases of the benchmark run, and the outputs of rivals are equal."""
    run_small(name)


@pytest.mark.thorough
@pytest.mark.spark
@pytest.mark.parametrize("name", ON_SPARK)
def test_a_benchmark_on_spark_runs_over_small_data(name: str) -> None:
    """All cases of the benchmark run, and the outputs of rivals are equal."""
    run_small(name)


@pytest.mark.thorough
@pytest.mark.spark
def test_the_benchmark_of_topics_runs_over_few_messages() -> None:
    """All cases run on both engines, and the topics of the rivals are equal."""
    lacking = broker.missing() or missing_jars("spark-kafka")
    if lacking is not None:
        pytest.skip(lacking)
    run_small("kafka")


@pytest.mark.thorough
@pytest.mark.spark
def test_the_benchmark_of_the_lakehouse_runs_for_one_micro_batch() -> None:
    """The tables of both rivals are equal after one micro-batch that counts."""
    if not (ROOT / "build" / "lakehouse" / "4.2" / "ready").exists():
        pytest.skip("make lakehouse-check makes the environment")
    command = [sys.executable, "-m", "docs.benchmarks.lakehouse", "1"]
    finished = run_program(command, cwd=ROOT, seconds=HOURS)
    assert finished.returncode == 0, finished.stdout + finished.stderr[-4_000:]


@pytest.mark.parametrize("word", ["two stages", "sessions, 1,000 rows"])
def test_a_case_of_the_local_engine_runs_over_small_data(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A batch and a stream run beside their rivals, and their results are the last row that is printed."""
    before = kept()
    bench_local.main(["--small", "--only", word])
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"| {word}")
    assert kept() == before


def test_a_table_without_results_is_left_out() -> None:
    """There is no table of Spark unless its streams were measured."""
    growing = {"case": "growth, 10", "flowalg_p50_ms": 1.0, "growth": 1.0}
    assert list(tables([])) == []
    assert list(tables([growing])) == [
        "",
        "| live windows | p50 ms | growth |",
        "| --- | ---: | ---: |",
        "| growth, 10 | 1.0 | 1.0 |",
    ]


def test_a_small_run_has_a_folder_of_its_own_that_is_removed() -> None:
    """Its sizes are at most the small ones; a usual run has its own sizes, and the folder of results."""
    with extent(small=True) as run:
        run.results("it.json", "case", ["a"]).save({"case": "a"})
        assert (run.folder / "it.json").exists()
        assert (run.at_most(100, 5), run.at_most(0, 5)) == (5, 0)
    assert not run.folder.exists()
    with extent(small=False) as usual:
        assert (usual.folder, usual.at_most(100, 5)) == (BENCH, 100)


def test_output_is_compared_without_processing_times(spark: SparkSession) -> None:
    """Panes that differ only in the time at which they were emitted are equal; elements have it as a column."""
    shown = F.struct(
        F.col("index"),
        F.lit(datetime(2026, 1, 1, tzinfo=UTC)).alias("watermark"),
        F.col("at").alias("processing_time"),
    )
    rows = spark.createDataFrame([(0, 1), (0, 2), (1, 2)], "index int, at int")
    panes = rows.select(F.lit("key").alias("key"), shown.alias("pane"))
    first, second, third = without_processing_time(panes).collect()
    assert first == second
    assert second != third
    elements = rows.withColumnRenamed("at", "processing_time")
    assert without_processing_time(elements).columns == ["index"]


def test_rivals_whose_panes_have_other_processing_times_agree(spark: SparkSession, tmp_path: Path) -> None:
    """The check of the stream benchmark passes for two triggers that fire at the same records."""
    (case,) = (case for case in CASES if case.name.startswith("early by the value"))
    check(spark, case, files(tmp_path / "data", 200, 2, keys=10, known_keys=10), tmp_path / "check")
