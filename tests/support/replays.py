"""Timelines as recorded data: the rows of a source over all instants, as a table that a replay divides again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import polars as pl
import pyarrow as pa
from attrs import asdict, frozen
from flowalg_columns.observed_rows import MARKS, observed_batches
from flowalg_columns.tables import arrow_schema_of
from flowalg_laws.kit.readings import Reading
from flowalg_polars import replay
from flowalg_polars.capabilities import timeline_capabilities
from flowalg_polars.streaming import Frames, MicroBatches

from flowalg import Mode, PCollection, Source, Timeline
from flowalg.analysis import Capabilities
from flowalg.runs.inputs import AnySource
from flowalg.runs.instants import pipeline_instants
from tests.support.local_queries import LocalTimelines, marked_stream

NUMBER = "instant_number"
"""The column with the number of the micro-batch of a row."""


def recorded_tables(inputs: Mapping[AnySource, Timeline[object]]) -> dict[AnySource, pa.Table]:
    """Returns the rows of each source with what its policy observed, the last instant first."""
    instants = tuple(pipeline_instants({source.name: timeline for source, timeline in inputs.items()}))
    tables: dict[AnySource, pa.Table] = {}
    for source, timeline in inputs.items():
        marks = [*(pa.field(*mark) for mark in MARKS.items()), pa.field(NUMBER, pa.int64())]
        schema = pa.schema([*arrow_schema_of(source), *marks])
        batches = list(observed_batches(cast("Source[object]", source), timeline, instants))
        numbered = [[{**row, NUMBER: number} for row in rows] for number, rows in enumerate(batches)]
        tables[source] = pa.Table.from_pylist([row for rows in numbered[::-1] for row in rows], schema=schema)
    return tables


def recorded_readings(timeline: Timeline[Reading]) -> pl.DataFrame:
    """Returns the readings of a timeline as a frame with both times, the last ones first."""
    point = pl.Datetime("us", "UTC")
    schema = {"key": pl.String(), "value": pl.Int64(), "at": point, "seen": point}
    return pl.DataFrame([asdict(reading) for reading in timeline.elements[::-1]], schema)


@frozen
class LocalReplays(LocalTimelines):
    """The local engine as an interpreter: it replays the recorded rows of a timeline, which are in no order."""

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of local streaming over bounded data."""
        return timeline_capabilities(Mode.MICRO_BATCH, observed=True)

    def batches(
        self, outputs: Mapping[str, PCollection[object]], inputs: Mapping[AnySource, Timeline[object]]
    ) -> list[MicroBatches]:
        """Returns the micro-batches that the rows are divided into again."""
        streams = {}
        for source, table in recorded_tables(inputs).items():
            frame = pl.from_arrow(table)
            assert isinstance(frame, pl.DataFrame), "a table is a frame"
            streams[source] = marked_stream(Frames([frame]), source.name, inputs[source])
        return list(replay(outputs, streams, micro_batch=NUMBER, ends=False))
