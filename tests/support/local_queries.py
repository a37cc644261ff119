"""Timelines as queries of the local engine, which are stopped and started again from their checkpoint."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import field, frozen
from flowalg_columns.observed_rows import (
    ENDS,
    MARKS,
    PARTITION,
    PUBLISHED,
    SIGNAL,
    SIGNAL_KEY,
    SIGNAL_WINDOW,
    TICK,
    TIME,
    observed_batches,
    require_policy,
)
from flowalg_columns.tables import arrow_schema_of
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, MicroBatches, StreamInput

from flowalg import Outputs, PCollection, Run, Source, Timeline
from flowalg.analysis import Capabilities
from flowalg.analysis.features import AnyFeature, Feature
from flowalg.interpreters import run_of
from flowalg.runs.inputs import AnySource
from flowalg.runs.instants import pipeline_instants
from flowalg.runs.output import joined
from tests.support.engines import Collections, Engine, Timelines


@frozen
class LocalTimelines(Engine):
    """The local engine as an interpreter, which repeats timelines in micro-batches."""

    @abstractmethod
    def batches(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]]
    ) -> Sequence[MicroBatches]:
        """Returns the micro-batches."""

    def execute(self, outputs: PCollection[object] | Collections, inputs: Timelines) -> Run[object] | Outputs:
        """Runs the query to the end of the timelines."""
        if isinstance(outputs, PCollection):
            return run_of(self.run({"output": outputs}, inputs), outputs)
        batches = self.batches(outputs, inputs)
        by_name = {name: joined(batch[name].output for batch in batches) for name in outputs}
        return Outputs(by_name, tuple(drop for batch in batches for drop in batch.dropped), outputs)


@frozen
class LocalQueries(LocalTimelines):
    """The local engine, as a query over a stream that repeats a timeline: one micro-batch for each instant.

    The query is dropped after each number of further micro-batches in ``stops``, the last of which is not committed,
    and starts again from its checkpoint. Before that, its state is divided into the next of ``resharded`` shards, if
    there is one.
    """

    shards: int = 1
    stops: Sequence[int] = field(default=())
    resharded: Sequence[int] = field(default=())

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of local streaming, without the inputs and outputs that these queries do not have."""
        engine = streaming.CAPABILITIES
        return Capabilities(engine.interpreter, {**engine.missing, **_NOT_REPEATED})

    def batches(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]]
    ) -> list[MicroBatches]:
        """Returns the micro-batches of all starts; of a repeated one, the last."""
        by_number: dict[int, MicroBatches] = {}
        shards, following = self.shards, iter(self.resharded)
        with TemporaryDirectory(prefix="flowalg-") as folder:
            streams = streams_of(inputs, Path(folder))
            checkpoint = Path(folder) / "checkpoint"
            for stop in (*self.stops, None):
                if (checkpoint / "manifest").exists() and (divided := next(following, None)) is not None:
                    shards = divided
                    streaming.reshard(checkpoint, shards)
                batches = streaming.batches(outputs, streams, checkpoint=checkpoint, shards=shards)
                for batch in islice(batches, stop):
                    by_number[batch[next(iter(outputs))].number] = batch
                batches.close()
        return list(by_number.values())


_NOT_REPEATED: Final[Mapping[AnyFeature, str]] = {
    Feature.DEAD_LETTERS: "the files are good records",
}


def streams_of(inputs: Mapping[AnySource, Timeline[object]], folder: Path) -> dict[AnySource, StreamInput]:
    """Returns a stream for each source, with a file, and so a micro-batch, for each instant of the pipeline."""
    instants = tuple(pipeline_instants({source.name: timeline for source, timeline in inputs.items()}))
    streams: dict[AnySource, StreamInput] = {}
    for source, timeline in inputs.items():
        schema = pa.schema([*arrow_schema_of(source), *(pa.field(*mark) for mark in MARKS.items())])
        files = folder / source.name
        files.mkdir()
        for number, rows in enumerate(observed_batches(cast("Source[object]", source), timeline, instants)):
            path = files / f"{number:04}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
            os.utime(path, (number, number))
        streams[source] = marked_stream(files, source.name, timeline)
    return streams


def marked_stream(data: Path | Frames, source: str, timeline: Timeline[object]) -> StreamInput:
    """Returns rows with the columns of ``observed_batches`` as the stream of a source, with its timeline's policy."""
    generated_by = require_policy(source, timeline)
    return StreamInput(
        data,
        generated_by.policy,
        processing_time=TIME,
        end_of_input=ENDS,
        partition=PARTITION,
        signal=SIGNAL,
        signal_key=SIGNAL_KEY,
        signal_window=SIGNAL_WINDOW,
        tick=TICK,
        source_watermark=PUBLISHED if generated_by.publishes else None,
    )
