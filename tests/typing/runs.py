"""The reference interpreter: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from datetime import datetime
from typing import assert_type

import flowalg_reference as reference
from flowalg_reference import Mode, Run, WatermarkReading

from flowalg import KV, Count, Drop, EventTime, Pane, PCollection, ProcessingTime, Source, Timeline
from tests.typing.records import Flight


def runs(
    totals: PCollection[KV[str, int]],
    flights: Source[Flight],
    names: Source[str],
    timeline: Timeline[Flight],
    other: Timeline[str],
) -> None:
    """Over timelines, which may be given in place or be a variable."""
    assert_type(reference.run(totals, {flights: timeline}), Run[KV[str, int]])
    assert_type(reference.run(totals, {flights: timeline, names: other}), Run[KV[str, int]])
    assert_type(reference.run(totals, {flights: timeline}, mode=Mode.MICRO_BATCH), Run[KV[str, int]])
    of_one = {flights: timeline}
    assert_type(reference.run(totals, of_one), Run[KV[str, int]])
    of_two = {flights: timeline, names: other}
    assert_type(reference.run(totals, of_two), Run[KV[str, int]])


def batches(flights: Source[Flight], names: Source[str], flight: Flight, time: datetime) -> None:
    """Over bounded data."""
    by_length = flights.key_by(lambda f: len(f.origin)).combine_per_key(Count())
    assert_type(reference.run_batch(by_length, {flights: [flight]}), Run[KV[int, int]])
    assert_type(reference.run_batch(by_length, {flights: [flight], names: iter("a")}), Run[KV[int, int]])
    of_one = {flights: [flight]}
    assert_type(reference.run_batch(by_length, of_one, time=time), Run[KV[int, int]])


def results(run: Run[KV[str, int]], reading: WatermarkReading) -> None:
    """What there is to see."""
    assert_type(run.panes, tuple[Pane[KV[str, int]], ...])
    assert_type([pane.value for pane in run.panes], list[int])
    assert_type({pane.key: pane.index for pane in run.panes}, dict[str, int])
    assert_type(run.dropped, tuple[Drop, ...])
    assert_type(run.watermarks, tuple[WatermarkReading, ...])
    assert_type(reading.processing_time, ProcessingTime)
    assert_type(reading.input, EventTime)
    assert_type(reading.output, EventTime)
