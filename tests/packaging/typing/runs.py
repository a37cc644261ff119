"""The reference interpreter: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import assert_type

import flowalg_reference as reference
from flowalg_reference import (
    Cause,
    Clause,
    Explanation,
    Holder,
    Mode,
    Origin,
    Reason,
    Run,
    Watched,
    WatermarkReading,
    WhyNot,
)

from flowalg import (
    KV,
    Count,
    Drop,
    EventTime,
    OnceTrigger,
    Pane,
    PCollection,
    ProcessingTime,
    Source,
    Timeline,
    Window,
)
from flowalg.analysis.capabilities import Capabilities
from tests.packaging.typing.records import Flight


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


def published() -> None:
    """What the interpreter lacks, as data."""
    assert_type(reference.CAPABILITIES, Capabilities)


def results(run: Run[KV[str, int]], reading: WatermarkReading) -> None:
    """What there is to see."""
    assert_type(run.panes, tuple[Pane[KV[str, int]], ...])
    assert_type([pane.value for pane in run.panes], list[int])
    assert_type({pane.key: pane.index for pane in run.panes}, dict[str, int])
    assert_type(run.dropped, tuple[Drop, ...])
    assert_type(run.watermarks, tuple[WatermarkReading, ...])
    assert_type(run.origin, Origin | None)
    assert_type(reading.processing_time, ProcessingTime)
    assert_type(reading.input, EventTime)
    assert_type(reading.output, EventTime)


def questions(run: Run[KV[str, int]], pane: Pane[KV[str, int]], window: Window, time: datetime) -> None:
    """Why a pane came, and why a window has not come out."""
    assert_type(reference.explain_when(run, pane), Explanation[KV[str, int]])
    assert_type(reference.why_not(run, "a", window), WhyNot)
    assert_type(reference.why_not(run, "a", window, at=time), WhyNot)


def explanations(why: Explanation[KV[str, int]]) -> None:
    """What there is in an explanation."""
    assert_type(why.pane, Pane[KV[str, int]])
    assert_type(why.grouping, str)
    assert_type(why.key, object)
    assert_type(why.cause, Cause)
    assert_type([Cause.FIRED, Cause.EXPIRED, Cause.ENDED], list[Cause])
    assert_type(why.watched, tuple[Watched, ...])
    assert_type(why.waited, tuple[Watched, ...])
    assert_type(why.looked_at, ProcessingTime | None)


def answers(found: WhyNot, watched: Watched, clause: Clause, holder: Holder, origin: Origin) -> None:
    """What there is in an answer."""
    assert_type(found.grouping, str)
    assert_type(found.key, object)
    assert_type(found.window, Window)
    assert_type(found.processing_time, ProcessingTime)
    assert_type(found.watermark, EventTime)
    assert_type(found.reason, Reason)
    assert_type([Reason.NOTHING_CAME, Reason.REFUSED], list[Reason])
    assert_type(found.panes, tuple[Pane[object], ...])
    assert_type(found.drops, tuple[Drop, ...])
    assert_type(found.watched, tuple[Watched, ...])
    assert_type(found.due, ProcessingTime | None)
    assert_type(found.holder, Holder | None)
    assert_type(found.open, tuple[Window, ...])
    assert_type(watched.where, tuple[str, ...])
    assert_type(watched.clause, Clause)
    assert_type(list(watched.lines()), list[str])
    assert_type(clause.trigger, OnceTrigger)
    assert_type(clause.holds, bool)
    assert_type(clause.progress, str)
    assert_type(clause.parts, tuple[Clause, ...])
    assert_type(list(clause.lines()), list[str])
    assert_type(holder.at, EventTime)
    assert_type(holder.words, str)
    assert_type(holder.source, str | None)
    assert_type(holder.partition, str | None)
    assert_type(holder.window, Window | None)
    assert_type(origin.pipeline, PCollection[object])
    assert_type(origin.timelines, Mapping[str, Timeline[object]])
    assert_type(origin.mode, Mode)
