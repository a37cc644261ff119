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
    stages=st.sets(st.integers(0, 2)).flatmap(lambda numbers: st.tuples(*map(stages, sorted(numbers)))),
    sources=st.sets(st.sampled_from("ab")).flatmap(lambda names: st.tuples(*map(sources, sorted(names)))),
)


@given(progresses, progresses, progresses)
def test_progress_adds_up_in_any_grouping(a: QueryProgress, b: QueryProgress, c: QueryProgress) -> None:
    """``then`` is associative."""
    assert a.then(b).then(c) == a.then(b.then(c))


@given(st.lists(progresses, min_size=1, max_size=5))
def test_counts_add_up_and_the_state_is_the_last_one(history: list[QueryProgress]) -> None:
    """In the total, counts and durations are sums over all micro-batches, and all else is the last that is known."""
    total = reduce(QueryProgress.then, history)
    assert (total.batch, total.processing_time) == (history[-1].batch, history[-1].processing_time)
    assert total.seconds == sum(progress.seconds for progress in history)
    assert total.bad_records == sum(progress.bad_records for progress in history)
    assert total.elements == sum(progress.elements for progress in history)
    for stage in total.stages:
        rows = [
            asdict(metrics) for one in history for metrics in one.stages if metrics.number == stage.number
        ]
        for name, value in asdict(stage).items():
            adds_up = name in (*PANE_COUNTS, *DROP_COUNTS, "elements", "step_seconds")
            assert value == (sum(row[name] for row in rows) if adds_up else rows[-1][name])
    numbers = {metrics.number for one in history for metrics in one.stages}
    assert [stage.number for stage in total.stages] == sorted(numbers)
    for source in total.sources:
        last = [metrics for one in history for metrics in one.sources if metrics.source == source.source][-1]
        assert (source.watermark, source.idle) == (last.watermark, last.idle)
