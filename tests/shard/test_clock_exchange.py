"""How the shards of a stage learn the clocks: reports over columns, in parts, and through several stages.

This family catches faults of the clocks in band: reports that differ from the policy's own, that depend on how the
input is divided, and a watermark that runs ahead of what another shard holds back.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import timedelta

import polars as pl
from flowalg_laws.strategies import observations, watermark_policies
from flowalg_shard import (
    Clocks,
    FromSource,
    FromStage,
    Heard,
    SourceReport,
    StageReport,
    reports_of,
    source_report,
)
from flowalg_shard.clocks.exchange import Origin, Reports, hear, merged
from flowalg_shard.tables.columns import (
    ENDED,
    EVENT_TIME,
    ORIGIN,
    PARTITION,
    PROCESSING_TIME,
    REPORT,
    SIGHTED,
    SIGNAL,
)
from hypothesis import given
from hypothesis import strategies as st

from flowalg import ClockSummary, Timeout
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.watermarks import Observation, WatermarkPolicy

SCHEMA = {
    EVENT_TIME: pl.Int64(),
    PROCESSING_TIME: pl.Int64(),
    PARTITION: pl.String(),
    ENDED: pl.Boolean(),
    SIGNAL: pl.String(),
    ORIGIN: pl.Int32(),
    REPORT: pl.Binary(),
}


def rows(records: Sequence[Observation], *marks: dict[str, object], origin: int = 0) -> pl.DataFrame:
    """The rows of a source: records, and rows that are none."""
    lines: list[dict[str, object]] = [
        {
            EVENT_TIME: one.event_time,
            PROCESSING_TIME: one.processing_time,
            PARTITION: one.partition,
            ENDED: False,
        }
        for one in records
    ]
    lines += [{ENDED: False, **mark} for mark in marks]
    return pl.DataFrame([{ORIGIN: origin, **one} for one in lines], schema=SCHEMA)


@given(watermark_policies(), st.lists(observations()))
def test_the_report_of_columns_is_the_policys_own(
    policy: WatermarkPolicy, records: list[Observation]
) -> None:
    """Law: vectorised or not, the same report: partitions, lags, and what is too far ahead."""
    assert source_report(policy, rows(records)).clock == policy.report(records)


@given(watermark_policies(), st.lists(observations(), min_size=1))
def test_a_record_counts_by_the_event_time_that_its_source_gave(
    policy: WatermarkPolicy, records: list[Observation]
) -> None:
    """An element may have another event time by now, or have become several: the clocks see one record, as it came."""
    first = rows(records).with_columns(
        pl.col(EVENT_TIME).alias(SIGHTED), pl.lit(0, pl.Int64()).alias(EVENT_TIME)
    )
    copies = first.with_columns(pl.lit(None, pl.Int64()).alias(SIGHTED))
    assert source_report(policy, pl.concat([first, copies])).clock == policy.report(records)


def test_rows_that_are_no_records_say_something_else() -> None:
    """A tick lets time go on, signals are collected, and the end is heard; none of them is a record."""
    said = source_report(
        Timeout(timedelta(0)),
        rows(
            [],
            {PROCESSING_TIME: 7},
            {PROCESSING_TIME: 5, SIGNAL: "go"},
            {PROCESSING_TIME: 6, SIGNAL: "stop"},
            {PROCESSING_TIME: 6, ENDED: True},
        ),
    )
    clock = ClockSummary(latest_processing=ProcessingTime(7), ended=True)
    assert said == SourceReport(clock, frozenset({"go", "stop"}))


@given(
    watermark_policies(),
    watermark_policies(),
    st.lists(observations()),
    st.lists(observations()),
    st.integers(1, 4),
)
def test_it_does_not_matter_how_the_input_is_divided(
    one: WatermarkPolicy,
    other: WatermarkPolicy,
    first: list[Observation],
    second: list[Observation],
    parts: int,
) -> None:
    """Law: whatever is told in parts, of one or several origins, is understood as if it had been told at once."""
    origins = (FromSource(one), FromSource(other))
    everything = pl.concat([rows(first), rows(second, origin=1)])
    told = merged(reports_of(origins, everything.gather_every(parts, part)) for part in range(parts))
    assert told == reports_of(origins, everything)
    before = (Heard.nothing(origins),)
    assert hear((origins,), before, [told]) == hear((origins,), before, [reports_of(origins, everything)])


@given(watermark_policies(), watermark_policies(), st.lists(observations(), min_size=1))
def test_the_clocks_behind_a_union_are_the_least(
    one: WatermarkPolicy, other: WatermarkPolicy, records: list[Observation]
) -> None:
    """A source that has said nothing yet holds all back; its own policy moves it on with the time."""
    origins = (FromSource(one), FromSource(other))
    (heard,) = hear((origins,), (Heard.nothing(origins),), [reports_of(origins, rows(records))])
    now = max(record.processing_time for record in records)
    alone = one.advance(one.start(), one.report(records), now)
    silent = other.advance(other.start(), ClockSummary(), now)
    assert heard.clocks.processing_time == now
    assert heard.clocks.watermark == min(alone.watermark, silent.watermark)


TIMES = st.integers(0, 20).map(EventTime)
INSTANTS = st.lists(st.tuples(TIMES, st.lists(TIMES, min_size=1, max_size=3)), min_size=1, max_size=6)


@given(INSTANTS)
def test_no_shard_runs_ahead_of_what_another_one_holds(
    instants: list[tuple[EventTime, list[EventTime]]],
) -> None:
    """Law: behind a stage the watermark is the greatest so far of the least of its own and of all holds."""
    heard: tuple[Heard, ...] = (Heard.nothing((FromStage(),)),)
    watermark, expected = MIN_TIME, MIN_TIME
    for number, (point, holds) in enumerate(instants):
        watermark = max(watermark, point)
        expected = max(expected, min(watermark, *holds))
        clocks = Clocks(ProcessingTime(number), watermark)
        parts = [pickle.dumps(StageReport(clocks, one)) for one in holds]
        lines = pl.DataFrame([{REPORT: one, ORIGIN: 0, ENDED: None} for one in parts], schema=SCHEMA)
        reports: list[Reports] = [reports_of((FromStage(),), lines)]
        heard = hear(((FromStage(),),), heard, reports)
        assert heard[0].clocks == Clocks(ProcessingTime(number), expected)


def test_signals_go_through_stages_and_last_an_instant() -> None:
    """What is given to a source is heard behind the stages that it flows into, in the same instant and no other."""
    origins: tuple[tuple[Origin, ...], ...] = ((FromSource(Timeout(timedelta(0))),), (FromStage(),))
    before = tuple(map(Heard.nothing, origins))
    go = frozenset({"go"})
    behind = StageReport(Clocks(ProcessingTime(1), MIN_TIME, signals=go), MAX_TIME)
    after = hear(origins, before, [{}, {0: behind}])
    assert [one.clocks.signals for one in after] == [go, go]
    assert [one.clocks.processing_time for one in after] == [1, 1]
    assert [one.clocks.signals for one in hear(origins, after, [{}, {}])] == [frozenset(), frozenset()]
