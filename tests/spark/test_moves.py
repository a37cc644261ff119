"""Queries that move between the local engine and Spark, and back: their panes are those of a query that stayed.

These tests catch a state, a position or a clock that the other engine reads as something else, and a sink that rejects
the query or takes a micro-batch twice.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from flowalg_polars import streaming as local
from flowalg_polars.streaming.moves import stored_queries as on_local
from flowalg_spark import StreamInput, schema_of, streaming
from flowalg_spark.frames.pane_frame import collect_output
from flowalg_spark.moves import stored_queries as on_spark
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.sql import SparkSession

from flowalg import BoundedOutOfOrderness, PCollection
from tests.polars.test_streams import frame_of
from tests.support.kept_checkpoints import BATCHES, OUTPUTS
from tests.support.scores import SCORES

WATERMARK: Final = BoundedOutOfOrderness(timedelta(seconds=30))


def add_file(folder: Path, number: int) -> None:
    """Adds the file of a micro-batch to a folder."""
    folder.mkdir(exist_ok=True)
    frame_of(BATCHES[number]).write_parquet(folder / f"{number}.parquet")


def on_local_engine(pipeline: PCollection[Any], folder: Path, checkpoint: Path, shards: int = 2) -> list[str]:
    """Runs the query on the local engine as far as there are files, and returns what it emits."""
    stream = local.StreamInput(local.Files(str(folder)), WATERMARK)
    emitted = list[str]()
    for batch in local.batches(pipeline, {SCORES: stream}, checkpoint=checkpoint, shards=shards):
        emitted += [repr((pane.element, pane.window, pane.change, pane.index)) for pane in batch.panes]
        emitted += [repr(row.element) for row in batch.elements]
    return sorted(emitted)


def spark_input(spark: SparkSession, folder: Path) -> dict[Any, StreamInput]:
    """Returns the input of the query on Spark."""
    files = spark.readStream.schema(schema_of(SCORES)).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return {SCORES: StreamInput(files, WATERMARK)}


def run_on_spark(
    spark: SparkSession, pipeline: PCollection[Any], folder: Path, checkpoint: Path, out: Path
) -> list[str]:
    """Runs the query on Spark as far as there are files, and returns what it emits."""
    frame = streaming.compile(pipeline, spark_input(spark, folder), shards=2)
    run_to_end(frame, out, checkpoint)
    output = collect_output(pipeline, spark.read.parquet(f"{out}/part-*"))
    emitted = [repr((pane.element, pane.window, pane.change, pane.index)) for pane in output.panes]
    return sorted([*emitted, *(repr(row.element) for row in output.elements)])


@pytest.mark.parametrize("output", list(OUTPUTS))
def test_a_query_moves_to_spark_and_back(spark: SparkSession, tmp_path: Path, output: str) -> None:
    """It emits what a query that stays on the local engine does, after each move."""
    pipeline, folder = OUTPUTS[output], tmp_path / "in"
    stayed, checkpoints = tmp_path / "stayed", [tmp_path / f"checkpoint-{number}" for number in range(3)]
    wanted, emitted = list[list[str]](), list[list[str]]()
    for number in range(5):
        add_file(folder, number)
        wanted.append(on_local_engine(pipeline, folder, stayed))
        match number:
            case 0 | 1:
                emitted.append(on_local_engine(pipeline, folder, checkpoints[0]))
            case 2 | 3:
                if number == 2:
                    query = on_local.read_query(checkpoints[0])
                    inputs = spark_input(spark, folder)
                    on_spark.write_query(spark, query, pipeline, inputs, checkpoints[1], shards=2)
                emitted.append(run_on_spark(spark, pipeline, folder, checkpoints[1], tmp_path / str(number)))
            case _:
                query = on_spark.read_query(spark, checkpoints[1], pipeline, spark_input(spark, folder))
                on_local.write_query(query, pipeline, checkpoints[2], shards=3)
                emitted.append(on_local_engine(pipeline, folder, checkpoints[2], 3))
    assert emitted == wanted
