"""The benchmark of computations runs on few rows: rivals do the same work, and results become tables and pictures.

The tests catch a rival that does less, cases that fail, and results that no table shows. They state no times.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from docs.benchmarks.millwheel import local, on_spark
from docs.benchmarks.millwheel.__main__ import ON_LOCAL, ON_SPARK, results_of
from docs.benchmarks.millwheel.by_hand import count_in_a_loop
from docs.benchmarks.millwheel.data import Scale
from docs.benchmarks.millwheel.pictures import draw
from docs.benchmarks.millwheel.tables import PAGE, TABLES, page_with
from docs.benchmarks.small import Extent


@pytest.fixture
def scale(tmp_path: Path) -> Scale:
    """The scale of a small run."""
    return Scale.of(Extent(small=True, folder=tmp_path), rounds=1)


@pytest.mark.thorough
def test_every_case_of_the_local_engine_has_a_place(scale: Scale, tmp_path: Path) -> None:
    """Each case of the local engine runs, with equal outputs of its rivals, and is in a table and in the pictures."""
    results = [result for run in ON_LOCAL.values() for result in run(scale)]
    cases = [str(result["case"]) for result in results]
    assert set(cases) <= set(results_of(scale).names)
    by_case = dict(zip(cases, results, strict=True))
    shown = {name: len(list(table(by_case))) - 2 for name, table in TABLES.items()}
    assert shown == {
        "rivals": 0,
        "throughput": 2,
        "growth": 2,
        "latency": 8,
        "checkpoints": 0,
        "lag": 3,
        "cache": 0,
    }
    assert {path.name for path in draw(results, tmp_path)} == {"millwheel-latency.svg", "millwheel-lag.svg"}


def test_different_outputs_are_an_error(scale: Scale) -> None:
    """A run whose outputs differ from those of another is not timed."""
    paths = scale.large(scale.keys)
    other = (frame.with_columns(pl.col("value") + 1) for frame in count_in_a_loop(paths))
    with pytest.raises(ValueError, match="the outputs of batch 0 differ"):
        local.run_in_turns({"flowalg": (local.with_flowalg(paths), 0), "loop": (other, 0)}, len(paths))


def test_the_page_has_a_place_for_every_table() -> None:
    """The page is filled between its marks; without results it stays as it is."""
    page = PAGE.read_text(encoding="utf-8")
    assert all(page.count(f"<!-- table: {name} -->\n") == 1 for name in TABLES)
    assert page_with(page, []) == page
    case = {"case": on_spark.cache_case(0.5), "cache_mib": 12.5, "flowalg_s": 0.75}
    filled = page_with(page, [case])
    assert "| 0.5 | 12.5 | 0.75 |\n\n![" in filled
    assert page_with(filled, [case]) == filled


@pytest.mark.thorough
@pytest.mark.parametrize("case", ON_SPARK)
def test_every_case_on_spark_has_a_place(
    case: str, spark: SparkSession, scale: Scale, tmp_path: Path
) -> None:
    """Each case on Spark runs, and is in a table."""
    results = ON_SPARK[case](spark, scale, tmp_path)
    by_case = {str(result["case"]): result for result in results}
    assert set(by_case) <= set(results_of(scale).names)
    assert any(len(list(table(by_case))) > 2 for table in TABLES.values())
