"""The progress of a query over several micro-batches.

These tests catch a count that is lost or doubled when progress adds up, and a state that is not the last one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce

from attrs import asdict
from hypothesis import given
from hypothesis import strategies as st

from flowalg.data.time import EventTime
from flowalg.runs.metrics import DROP_COUNTS, PANE_COUNTS, QueryProgress, SourceMetrics, StageMetrics

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
counts = st.integers(0, 9)
times = st.integers(0, 9).map(lambda minutes: NOON + timedelta(minutes=minutes))


def stages(number: int) -> st.SearchStrategy[StageMetrics]:
    """Returns metrics of the stage with a number."""
    numbers = dict.fromkeys((*PANE_COUNTS, *DROP_COUNTS, "windows", "state_bytes", "elements"), counts)
    return st.builds(
        StageMetrics,
        number=st.just(number),
        stage=st.just(f"stage {number}"),
        processing_time=times,
        watermark=times,
        watermark_lag=counts,
        step_seconds=counts,
        **numbers,
    )


def sources(name: str) -> st.SearchStrategy[SourceMetrics]:
    """Returns metrics of the source with a name."""
    points = st.integers(0, 9).map(EventTime)
    return st.builds(
        SourceMetrics, st.just(name), counts, points, st.just({}), st.just(()), st.just({}), st.booleans()
    )


progresses = st.builds(
    QueryProgress,
    batch=counts,
    processing_time=times,
    seconds=counts,
    bad_records=counts,
    stages=st.sets(st.integers(0, 2)).flatmap(lambda some: st.tuples(*map(stages, sorted(some)))),
    sources=st.sets(st.sampled_from("ab")).flatmap(lambda some: st.tuples(*map(sources, sorted(some)))),
)


@given(progresses, progresses, progresses)
def test_progress_adds_up_in_any_grouping(a: QueryProgress, b: QueryProgress, c: QueryProgress) -> None:
    """``then`` is associative."""
    assert a.then(b).then(c) == a.then(b.then(c))


@given(st.lists(progresses, min_size=1, max_size=5))
def test_counts_add_up_and_the_state_is_the_last_one(some: list[QueryProgress]) -> None:
    """In the total, counts and durations are sums over all micro-batches, and all else is the last that is known."""
    total = reduce(QueryProgress.then, some)
    assert (total.batch, total.processing_time) == (some[-1].batch, some[-1].processing_time)
    assert total.seconds == sum(each.seconds for each in some)
    assert total.bad_records == sum(each.bad_records for each in some)
    assert total.elements == sum(each.elements for each in some)
    for stage in total.stages:
        found = [asdict(each) for one in some for each in one.stages if each.number == stage.number]
        for name, value in asdict(stage).items():
            adds_up = name in (*PANE_COUNTS, *DROP_COUNTS, "elements", "step_seconds")
            assert value == (sum(each[name] for each in found) if adds_up else found[-1][name])
    known = {each.number for one in some for each in one.stages}
    assert [stage.number for stage in total.stages] == sorted(known)
    for source in total.sources:
        last = [each for one in some for each in one.sources if each.source == source.source][-1]
        assert (source.watermark, source.idle) == (last.watermark, last.idle)
