"""Queries that move between the local engine and Spark, and back: their panes are those of a query that stayed.

These tests catch a state, a position or a clock that the other engine reads as something else, and a sink that rejects
the query or takes a micro-batch twice.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import flowalg_sinks
import flowalg_spark
import pytest
from attrs import evolve
from flowalg_polars import streaming as local
from flowalg_shard.stored_query import MessagesRead
from flowalg_sinks import SQLite
from flowalg_spark import StreamInput, schema_of, streaming
from flowalg_spark import sinks as spark_sinks
from flowalg_spark.frames.pane_frame import collect_output
from flowalg_spark.streaming.interpreter import run_to_end
from flowalg_tools.cli.app import main
from pyspark.sql import SparkSession

from flowalg import BoundedOutOfOrderness, PCollection
from flowalg.errors import ArgumentError, CheckpointError
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


@pytest.mark.thorough
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
                    query = local.read_query(checkpoints[0])
                    inputs = spark_input(spark, folder)
                    flowalg_spark.write_query(spark, query, pipeline, inputs, checkpoints[1], shards=2)
                emitted.append(run_on_spark(spark, pipeline, folder, checkpoints[1], tmp_path / str(number)))
            case _:
                query = flowalg_spark.read_query(spark, checkpoints[1], pipeline, spark_input(spark, folder))
                local.write_query(query, pipeline, checkpoints[2], shards=3)
                emitted.append(on_local_engine(pipeline, folder, checkpoints[2], 3))
    assert emitted == wanted


def test_several_outputs_and_sinks_move(spark: SparkSession, tmp_path: Path) -> None:
    """A query with outputs that share a source and sinks moves: its tables are those of a query that stayed."""
    outputs = {name: OUTPUTS[name] for name in ("aggregates", "a join")}
    folder = tmp_path / "in"
    tables = [SQLite(tmp_path / f"{name}.db") for name in ("stayed", "moved")]

    def local_run(target: SQLite, checkpoint: Path) -> None:
        stream = local.StreamInput(local.Files(str(folder)), WATERMARK)
        sinks = {
            name: flowalg_sinks.changelog(outputs[name], target, table=f"t{n}")
            for n, name in enumerate(outputs)
        }
        local.run(outputs, {SCORES: stream}, sinks=sinks, checkpoint=checkpoint)

    def spark_run(target: SQLite, checkpoint: Path) -> None:
        frame = streaming.compile(outputs, spark_input(spark, folder), shards=2)
        sinks = {
            name: spark_sinks.changelog(outputs[name], table=f"t{n}", target=target)
            for n, name in enumerate(outputs)
        }
        writer = frame.writeStream.foreachBatch(spark_sinks.route(sinks)).option(
            "checkpointLocation", str(checkpoint)
        )
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    for number in range(5):
        add_file(folder, number)
        local_run(tables[0], tmp_path / "stayed")
        if number < 2:
            local_run(tables[1], tmp_path / "a")
        elif number < 4:
            if number == 2:
                query = local.read_query(tmp_path / "a")
                inputs = spark_input(spark, folder)
                flowalg_spark.write_query(spark, query, outputs, inputs, tmp_path / "b", shards=2)
            spark_run(tables[1], tmp_path / "b")
        else:
            query = flowalg_spark.read_query(spark, tmp_path / "b", outputs, spark_input(spark, folder))
            local.write_query(query, outputs, tmp_path / "c")
            local_run(tables[1], tmp_path / "c")
    rows = [[table_rows(tmp_path / f"{name}.db", f"t{n}") for n in range(2)] for name in ("stayed", "moved")]
    assert rows[0] == rows[1]
    assert all(map(len, rows[0]))


def table_rows(path: Path, table: str) -> list[str]:
    """Returns the rows of a table, without the times of the run and the order in a micro-batch."""
    with closing(sqlite3.connect(path)) as connection:
        batch, _, *others = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        kept = ", ".join(
            f'"{name}"' for name in (batch, *others) if "time" not in name or name == "event_time"
        )
        return sorted(map(repr, connection.execute(f"SELECT {kept} FROM {table}")))


BEST: Final = OUTPUTS["a computation"]
"""The pipeline that the command line moves."""


@pytest.mark.thorough
def test_the_command_line_moves_a_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says from where the query goes on, and rejects a move to the engine on which the query is."""
    folder = tmp_path / "in"
    add_file(folder, 0)
    on_local_engine(BEST, folder, tmp_path / "a")
    pipeline, source = f"{__name__}:BEST", f"scores={folder}"
    arguments = ["move", pipeline, str(tmp_path / "a"), source, "--to"]
    assert main([*arguments, "local", "--into", str(tmp_path / "b")]) == 2
    assert (
        "--to must be spark, since the checkpoint is one of the local engine already"
        in capsys.readouterr().err
    )
    assert main([*arguments, "spark", "--into", str(tmp_path / "b")]) == 0
    assert "goes on after micro-batch 0 from" in capsys.readouterr().out.replace("\n", " ")
    back = ["move", pipeline, str(tmp_path / "b"), source, "--to", "local", "--into", str(tmp_path / "c")]
    assert main(back) == 0
    add_file(folder, 1)
    assert on_local_engine(BEST, folder, tmp_path / "c") == on_local_engine(BEST, folder, tmp_path / "a")


def test_what_cannot_move_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """A source that is not a folder of files, another pipeline, and a place that is taken are named."""
    pipeline, folder = OUTPUTS["aggregates"], tmp_path / "in"
    add_file(folder, 0)
    frames = local.StreamInput(local.Frames([frame_of(BATCHES[0])]), WATERMARK)
    list(local.batches(pipeline, {SCORES: frames}, checkpoint=tmp_path / "frames"))
    with pytest.raises(
        CheckpointError, match="source 'scores' reads frames, and only folders of files and topics"
    ):
        local.read_query(tmp_path / "frames")
    on_local_engine(pipeline, folder, tmp_path / "a")
    query, inputs = local.read_query(tmp_path / "a"), spark_input(spark, folder)
    with pytest.raises(
        CheckpointError, match=r"has no stage 'process\(best\)'.*with the pipeline that it ran with"
    ):
        flowalg_spark.write_query(spark, query, BEST, inputs, tmp_path / "b")
    with pytest.raises(ArgumentError, match="into must be a folder that does not exist yet"):
        flowalg_spark.write_query(spark, query, pipeline, inputs, tmp_path / "a")
    with pytest.raises(ArgumentError, match="into must be a place without a checkpoint"):
        local.write_query(query, pipeline, tmp_path / "a")
    rates = spark.readStream.format("rate").load()
    rated = {
        SCORES: StreamInput(rates.selectExpr("'a' AS team", "value AS points", "timestamp AS at"), WATERMARK)
    }
    with pytest.raises(
        CheckpointError, match="source 'scores' reads another frame, and only folders of files"
    ):
        flowalg_spark.write_query(spark, query, pipeline, rated, tmp_path / "b")
    messages = evolve(query, read={"scores": MessagesRead("an id", {0: 1})})
    with pytest.raises(CheckpointError, match="source 'scores' has read messages of Kafka, and its input is"):
        flowalg_spark.write_query(spark, messages, pipeline, inputs, tmp_path / "b")
    stream = local.StreamInput(local.Files(str(folder)), WATERMARK)
    begun = local.batches(pipeline, {SCORES: stream}, checkpoint=tmp_path / "a", shards=2)
    add_file(folder, 1)
    next(begun)
    begun.close()
    with pytest.raises(CheckpointError, match="was stopped in micro-batch 1, .*start it once more"):
        local.read_query(tmp_path / "a")
    assert not (tmp_path / "b").exists()
