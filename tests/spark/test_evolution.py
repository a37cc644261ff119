"""Changes of programs on Spark: the rows of the table of ``docs/state.md`` whose state is in columns.

These tests catch a state that Spark's workers convert in another way than the local engine does, and a plan that says
something else than the first micro-batch does. Objects of classes are converted by the same code, which the tests of
the local engine run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from flowalg_spark import PaneFrame, plan, streaming
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.frames.pane_frame import collect_output
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from flowalg import PCollection
from flowalg.errors import FlowalgError
from tests.differential import evolution
from tests.polars.test_streams import WATERMARK
from tests.support import deployed
from tests.support.program_changes import ROWS, Row
from tests.support.scores import SCORES, Score, minute
from tests.support.spark_replay import stream_of, write_batches

FEW: Final = (
    "a field with a default is added",
    "`evolves(Old, State, function)`",
    "a field without a default is added",
)
BATCHES: Final = (
    (Score("a", 1, minute(0)),),
    (Score("b", 2, minute(0.3)),),
    (Score("a", 3, minute(1)),),
    (Score("b", 6, minute(1.2)),),
)
"""Micro-batches of one element, since a state may depend on the order of several."""

IN_COLUMNS: Final = [row for row in ROWS if row.case.place != "accumulators"]


def compiled(spark: SparkSession, pipeline: PCollection[Any], folder: Path) -> PaneFrame[Any]:
    """Returns the frame of a pipeline over the scores in a folder."""
    inputs = {SCORES: stream_of(spark, folder, WATERMARK, time_column=None, ends=False)}
    return streaming.compile(pipeline, inputs, shards=2)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=() if row.change in FEW else pytest.mark.thorough, id=row.change)
        for row in IN_COLUMNS
    ],
)
def test_a_change_continues_as_on_the_local_engine_or_is_rejected_as_the_page_says(
    spark: SparkSession, tmp_path: Path, row: Row
) -> None:
    """A change that continues has the panes of the local engine; the plan and the first micro-batch reject others."""
    case, folder, checkpoint = row.case, tmp_path / "in", tmp_path / "checkpoint"
    cloudpickle.register_pickle_by_value(deployed)  # type: ignore[no-untyped-call]  # the workers do not have the version of the driver
    try:
        write_batches(folder, Score, BATCHES[: case.stop], ends=False)
        with case.before.version.installed() as item:
            pipeline = case.before.version.pipeline(item, case.place, case.before.settings)
            run_to_end(compiled(spark, pipeline, folder), tmp_path / "before", checkpoint)
        write_batches(folder, Score, BATCHES[case.stop :], ends=False, first=case.stop)
        with case.after.version.installed() as item:
            pipeline = case.after.version.pipeline(item, case.place, case.after.settings)
            change_plan, out = plan(spark, pipeline, checkpoint, shards=2), tmp_path / "after"
            assert change_plan.accepted == row.continues
            if not row.continues:
                with pytest.raises(FlowalgError) as raised, raise_causes():
                    run_to_end(compiled(spark, pipeline, folder), out, checkpoint)
                (reason,) = change_plan.stages[0].reasons
                assert reason in str(raised.value)
                return
            run_to_end(compiled(spark, pipeline, folder), out, checkpoint)
            # By name, since the metadata of the folder begin with this query.
            output = collect_output(pipeline, spark.read.parquet(f"{out}/part-*"))
            emitted: list[tuple[object, ...]] = [
                (repr(p.element), p.window, p.change, p.timing, p.index) for p in output.panes
            ]
            emitted += [(repr(row.element),) for row in output.elements]
            if case.exact:
                wanted = evolution.run(pipeline, 2, batches_of=BATCHES)[case.stop : len(BATCHES)]
                assert sorted(map(repr, emitted)) == sorted(repr(pane) for batch in wanted for pane in batch)
    finally:
        cloudpickle.unregister_pickle_by_value(deployed)  # type: ignore[no-untyped-call]
