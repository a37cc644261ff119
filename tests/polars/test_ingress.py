"""Ingress times on the local engine: those of the rows of a stream, of its micro-batches, and of a batch.

These tests catch an arrival that is taken from the wrong clock, and a row without one that is not a bad record.
"""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from attrs import asdict
from flowalg_laws.kit.readings import START, Reading
from flowalg_polars import batch, replay
from flowalg_polars.streaming import Frames, MicroBatch, StreamInput, batches

from flowalg import Source
from flowalg.data import INGRESS_TIME
from flowalg.errors import ArgumentError, ElementError
from flowalg.watermarks import IngressTime

MINUTE = timedelta(minutes=1)
ARRIVALS = Source("arrivals", Reading, event_time=INGRESS_TIME)
SEEN = (START + 3 * MINUTE, START + 4 * MINUTE)
ROWS = pl.DataFrame([asdict(Reading("a", 1, START, seen)) for seen in SEEN])
WITHOUT = ROWS.with_columns(pl.when(pl.col("seen") > SEEN[0]).then(pl.col("seen")).alias("observed"))
"""The first row has no processing time in the column ``observed``."""


def times_of(micro_batches: list[MicroBatch[Reading]]) -> list[object]:
    """Returns the event times of the elements of micro-batches."""
    return [element.event_time.datetime for batch in micro_batches for element in batch.elements]


def stream(frame: pl.DataFrame, column: str | None) -> StreamInput:
    """Returns a micro-batch of rows with their processing times in a column."""
    return StreamInput(Frames([frame]), IngressTime(), processing_time=column)


def test_rows_arrive_at_their_own_processing_times() -> None:
    """Rows of one micro-batch have the processing times that they carry, in a replay too."""
    assert times_of(list(batches(ARRIVALS, {ARRIVALS: stream(ROWS, "seen")}))) == list(SEEN)
    replayed = replay(
        ARRIVALS, {ARRIVALS: ROWS}, watermark=IngressTime(), processing_time="seen", every=timedelta(hours=1)
    )
    assert times_of(list(replayed)) == list(SEEN)


def test_other_rows_arrive_at_that_of_their_micro_batch() -> None:
    """The event time of a row that carries no processing time is that of its micro-batch, or of the batch."""
    (first, *_) = batches(ARRIVALS, {ARRIVALS: stream(ROWS, None)})
    assert times_of([first]) == [first.processing_time.datetime] * 2
    frame = batch.compile(ARRIVALS, {ARRIVALS: ROWS}, time=SEEN[0]).collect()
    assert frame["event_time"].to_list() == [SEEN[0]] * 2


def test_a_row_without_a_processing_time_is_a_bad_record() -> None:
    """A null where the others carry a processing time fails the run, or is a dead letter."""
    with pytest.raises(ElementError, match="source 'arrivals': the event time must not be null"):
        list(batches(ARRIVALS, {ARRIVALS: stream(WITHOUT, "observed")}))
    micro_batches = list(batches(ARRIVALS, {ARRIVALS: stream(WITHOUT, "observed")}, dead_letters=True))
    assert times_of(micro_batches) == [SEEN[1]]
    (bad,) = [record for batch in micro_batches for record in batch.bad_records]
    assert (bad.stage, bad.error) == (
        "Source('arrivals')",
        "source 'arrivals': the event time must not be null",
    )


def test_arrivals_do_not_order_rows() -> None:
    """A replay needs a column of processing times, since there are no other times."""
    with pytest.raises(
        ArgumentError,
        match="processing_time must be a column; .*: the event times of source 'arrivals' are those",
    ):
        list(replay(ARRIVALS, {ARRIVALS: ROWS}, watermark=IngressTime()))
