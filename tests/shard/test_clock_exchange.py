"""The clocks of the shards of a stage: summaries of columns, summaries in parts, and clocks through several stages.

The tests catch faults of the in-band clocks: summaries that differ from those of the policy, or that depend on how
the input is divided, and a watermark that passes the hold of another shard.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import timedelta

import polars as pl
import pytest
from attrs import evolve
from flowalg_laws.kit.history import History
from flowalg_laws.strategies import histories, observations, watermark_policies
from flowalg_shard import (
    FromSource,
    FromStage,
    InputClocks,
    SourceReport,
    StageReport,
    at_time,
    reports_of,
    source_report,
)
from flowalg_shard.clocks.exchange import Reports, Upstream, advance_clocks, merge_reports
from flowalg_shard.tables.columns import (
    ENDED,
    EVENT_TIME,
    OBSERVED_TIME,
    PARTITION,
    PROCESSING_TIME,
    PUBLISHED,
    REPORT,
    SIGNAL,
    SIGNAL_END,
    SIGNAL_KEY,
    SIGNAL_START,
    UPSTREAM,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from flowalg import Perfect, Window
from flowalg.data.record_messages import arrival_message
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.errors import ElementError
from flowalg.runs import Signal
from flowalg.runs.clocks import Clocks
from flowalg.runs.signals import KeyText
from flowalg.watermarks import ClockSummary, Observation, ProcessingTimeLag, WatermarkPolicy

SCHEMA = {
    EVENT_TIME: pl.Int64(),
    PROCESSING_TIME: pl.Int64(),
    PARTITION: pl.String(),
    PUBLISHED: pl.Int64(),
    ENDED: pl.Boolean(),
    SIGNAL: pl.String(),
    SIGNAL_KEY: pl.String(),
    SIGNAL_START: pl.Int64(),
    SIGNAL_END: pl.Int64(),
    UPSTREAM: pl.Int32(),
    REPORT: pl.Binary(),
}


def rows(records: Sequence[Observation], *others: dict[str, object], upstream: int = 0) -> pl.DataFrame:
    """Returns the rows of a source: its records, and rows that are not records."""
    rows_of_source: list[dict[str, object]] = [
        {
            EVENT_TIME: record.event_time,
            PROCESSING_TIME: record.processing_time,
            PARTITION: record.partition,
            PUBLISHED: record.published,
            ENDED: False,
        }
        for record in records
    ]
    rows_of_source += [{ENDED: False, **mark} for mark in others]
    return pl.DataFrame([{UPSTREAM: upstream, **row} for row in rows_of_source], schema=SCHEMA)


def timed_reports(upstreams: Sequence[Upstream], table: pl.DataFrame) -> Reports:
    """Returns the reports of rows with times."""
    return at_time(reports_of(upstreams, table), None)


@given(watermark_policies(), st.lists(observations()))
def test_the_summary_of_columns_equals_that_of_the_policy(
    policy: WatermarkPolicy, records: list[Observation]
) -> None:
    """Law: the summary of columns equals that of the policy: partitions, lags, records too far ahead."""
    assert source_report(policy, rows(records)).clock == policy.summarize(records)


@given(watermark_policies(), st.lists(observations()), st.integers(0, 3), st.integers(1, 4))
def test_a_report_without_times_equals_that_of_rows_with_the_time_of_the_micro_batch(
    policy: WatermarkPolicy, records: list[Observation], marks: int, parts: int
) -> None:
    """Law: reports without times, in any order and division, equal those of rows that all have the same time."""
    now = ProcessingTime(7)
    others: list[dict[str, object]] = [{SIGNAL: "go", SIGNAL_KEY: "3"}, {ENDED: True}, {}]
    timed = rows(records, *others[:marks]).with_columns(pl.lit(now, pl.Int64()).alias(PROCESSING_TIME))
    plain = evolve(policy, percentiles=(), lag_percentiles=(), max_ahead=None)
    source = FromSource(plain, at_batch_time=True)
    assume(not source.observes_times)
    untimed = timed.drop(PROCESSING_TIME)
    reports = [
        at_time(reports_of((source,), untimed.gather_every(parts, part)), now) for part in range(parts)
    ]
    assert merge_reports(reversed(reports)) == timed_reports((source,), timed)
    whole = at_time(reports_of((source,), untimed.drop(PARTITION)), now)
    assert whole == timed_reports((source,), timed.drop(PARTITION))


@given(watermark_policies(), histories())
def test_published_watermarks_are_summarized_on_any_row(policy: WatermarkPolicy, history: History) -> None:
    """Law: the summary of columns has the published watermarks of records and of other rows."""
    for instant in history:
        others = [
            {
                PROCESSING_TIME: publication.processing_time,
                PARTITION: publication.partition,
                PUBLISHED: publication.watermark,
            }
            for publication in instant.publications
        ]
        expected = policy.summarize(instant.observations, publications=instant.publications)
        assert source_report(policy, rows(instant.observations, *others)).clock == expected


def test_a_published_watermark_that_goes_back_is_an_error() -> None:
    """The error names the source, the partition and both watermarks."""
    upstreams = (FromSource(Perfect(), "orders"),)
    clocks = (InputClocks.initial(upstreams),)

    def publish(watermark: int) -> Reports:
        row = {PROCESSING_TIME: 1, PARTITION: "north", PUBLISHED: watermark}
        return timed_reports(upstreams, rows([], row))

    after = advance_clocks((upstreams,), clocks, [publish(2_000_000)])
    message = (
        "source 'orders': partition 'north' published the watermark 1970-01-01T00:00:01Z after "
        "1970-01-01T00:00:02Z; a published watermark must not go back"
    )
    with pytest.raises(ElementError, match=message):
        advance_clocks((upstreams,), after, [publish(1_000_000)])


@pytest.mark.parametrize("row", [{EVENT_TIME: 3}, {PUBLISHED: 3}], ids=["a record", "a published watermark"])
def test_a_row_of_a_partition_without_a_processing_time_is_an_error(row: dict[str, object]) -> None:
    """The error names the source; a record in a partition that has some is at their time."""
    upstreams = (FromSource(Perfect(), "orders"),)
    timed = {PARTITION: "north", PROCESSING_TIME: 1}
    with pytest.raises(
        ElementError, match=r"^source 'orders': StreamInput.processing_time must not be null in "
    ):
        timed_reports(upstreams, rows([], {**timed, EVENT_TIME: 2}, {PARTITION: "south", **row}))
    together = timed_reports(
        upstreams, rows([], {**timed, EVENT_TIME: 2}, {PARTITION: "north", EVENT_TIME: 3})
    )
    assert together == timed_reports(upstreams, rows([], {**timed, EVENT_TIME: 2}, {**timed, EVENT_TIME: 3}))


@pytest.mark.parametrize("time", [MIN_TIME - 1, MAX_TIME + 1])
@pytest.mark.parametrize("event_time", [3, None], ids=["a record", "a tick"])
def test_a_processing_time_out_of_range_is_an_error(time: int, event_time: int | None) -> None:
    """The error names the source; it does not become the clock, which would never go back."""
    row = {PARTITION: "north", PROCESSING_TIME: time, EVENT_TIME: event_time}
    with pytest.raises(ElementError, match=rf"^{arrival_message('orders')}{time}$"):
        timed_reports((FromSource(Perfect(), "orders"),), rows([], row))


@given(watermark_policies(), st.lists(observations(), min_size=1))
def test_a_record_counts_by_the_event_time_of_its_source(
    policy: WatermarkPolicy, records: list[Observation]
) -> None:
    """The clocks count a record once, by the event time of its source, even if it has become several elements."""
    first = rows(records).with_columns(
        pl.col(EVENT_TIME).alias(OBSERVED_TIME), pl.lit(0, pl.Int64()).alias(EVENT_TIME)
    )
    copies = first.with_columns(pl.lit(None, pl.Int64()).alias(OBSERVED_TIME))
    assert source_report(policy, pl.concat([first, copies])).clock == policy.summarize(records)


def test_rows_that_are_not_records_move_only_time_signals_and_the_end() -> None:
    """Ticks advance time, signals are collected, and the end is reported; none of them counts as a record."""
    report = source_report(
        ProcessingTimeLag(timedelta(0)),
        rows(
            [],
            {PROCESSING_TIME: 7},
            {PROCESSING_TIME: 5, SIGNAL: "go"},
            {PROCESSING_TIME: 6, SIGNAL: "stop"},
            {PROCESSING_TIME: 6, SIGNAL: "go", SIGNAL_KEY: "3"},
            {PROCESSING_TIME: 6, SIGNAL: "go", SIGNAL_KEY: "3", SIGNAL_START: 0, SIGNAL_END: 5},
            {PROCESSING_TIME: 6, ENDED: True},
        ),
    )
    clock = ClockSummary(latest_processing=ProcessingTime(7), ended=True)
    first = Window(EventTime(0), EventTime(5))
    to_three = {Signal("go", KeyText("3")), Signal("go", KeyText("3"), first)}
    assert report == SourceReport(clock, frozenset({"go", "stop", *to_three}))


@given(
    watermark_policies(),
    watermark_policies(),
    st.lists(observations()),
    st.lists(observations()),
    st.integers(1, 4),
)
def test_the_clocks_do_not_depend_on_the_division_of_the_input(
    first_policy: WatermarkPolicy,
    second_policy: WatermarkPolicy,
    first: list[Observation],
    second: list[Observation],
    parts: int,
) -> None:
    """Law: merged summaries of parts of the input advance the clocks as one summary of the whole input does."""
    upstreams = (FromSource(first_policy), FromSource(second_policy))
    everything = pl.concat([rows(first), rows(second, upstream=1)])
    merged = merge_reports(
        timed_reports(upstreams, everything.gather_every(parts, part)) for part in range(parts)
    )
    assert merged == timed_reports(upstreams, everything)
    before = (InputClocks.initial(upstreams),)
    whole = timed_reports(upstreams, everything)
    assert advance_clocks((upstreams,), before, [merged]) == advance_clocks((upstreams,), before, [whole])


@given(watermark_policies(), watermark_policies(), st.lists(observations(), min_size=1))
def test_the_clocks_after_a_union_are_the_least_of_its_sources(
    first_policy: WatermarkPolicy, second_policy: WatermarkPolicy, records: list[Observation]
) -> None:
    """The watermark of a union is the least of its sources'; a source without records follows its own policy."""
    upstreams = (FromSource(first_policy), FromSource(second_policy))
    (union,) = advance_clocks(
        (upstreams,), (InputClocks.initial(upstreams),), [timed_reports(upstreams, rows(records))]
    )
    now = max(record.processing_time for record in records)
    first_clock = first_policy.advance(first_policy.start(), first_policy.summarize(records), now)
    silent = second_policy.advance(second_policy.start(), ClockSummary(), now)
    assert union.clocks.processing_time == now
    assert union.clocks.watermark == min(first_clock.watermark, silent.watermark)


TIMES = st.integers(0, 20).map(EventTime)
INSTANTS = st.lists(st.tuples(TIMES, st.lists(TIMES, min_size=1, max_size=3)), min_size=1, max_size=6)


@given(INSTANTS)
def test_no_shard_passes_the_hold_of_another(
    instants: list[tuple[EventTime, list[EventTime]]],
) -> None:
    """Law: the output watermark of a stage is the running maximum of the least of its own watermark and all holds."""
    after: tuple[InputClocks, ...] = (InputClocks.initial((FromStage(),)),)
    watermark, expected = MIN_TIME, MIN_TIME
    for number, (point, holds) in enumerate(instants):
        watermark = max(watermark, point)
        expected = max(expected, min(watermark, *holds))
        clocks = Clocks(ProcessingTime(number), watermark)
        parts = [pickle.dumps(StageReport(clocks, hold)) for hold in holds]
        rows_of_reports = pl.DataFrame(
            [{REPORT: part, UPSTREAM: 0, ENDED: None} for part in parts], schema=SCHEMA
        )
        reports: list[Reports] = [timed_reports((FromStage(),), rows_of_reports)]
        after = advance_clocks(((FromStage(),),), after, reports)
        assert after[0].clocks == Clocks(ProcessingTime(number), expected)


def test_signals_pass_through_all_stages_in_one_instant() -> None:
    """A signal of a source is observed at every later stage, in the same instant and in no other."""
    upstreams: tuple[tuple[Upstream, ...], ...] = (
        (FromSource(ProcessingTimeLag(timedelta(0))),),
        (FromStage(),),
    )
    before = tuple(map(InputClocks.initial, upstreams))
    go = frozenset({"go"})
    report = StageReport(Clocks(ProcessingTime(1), MIN_TIME, signals=go), MAX_TIME)
    after = advance_clocks(upstreams, before, [{}, {0: report}])
    assert [input_clocks.clocks.signals for input_clocks in after] == [go, go]
    assert [input_clocks.clocks.processing_time for input_clocks in after] == [1, 1]
    assert [input_clocks.clocks.signals for input_clocks in advance_clocks(upstreams, after, [{}, {}])] == [
        frozenset(),
        frozenset(),
    ]
