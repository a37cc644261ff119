"""Elements that wait for a side input while a query is stopped: they keep their order of arrival."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_reference import Reference

from flowalg import (
    KV,
    AtCount,
    BoundedOutOfOrderness,
    FixedWindows,
    Mode,
    Repeat,
    Sum,
    Timeline,
    final_values,
)
from flowalg.windows import Accumulation
from tests.support.local_queries import LocalQueries
from tests.support.scores import POINTS, SCORES, Score, minute

TEN = timedelta(minutes=10)
TOTAL = SCORES.map(lambda score: score.points).window(FixedWindows(TEN), allowed_lateness=timedelta(0))
RUNNING = POINTS.window(
    FixedWindows(TEN),
    trigger=Repeat(AtCount(1)),
    accumulation=Accumulation.RETRACTING,
    allowed_lateness=timedelta(0),
).combine_per_key(Sum())
SHARES = RUNNING.map_with(
    TOTAL.combine_globally(Sum()).as_singleton(), lambda pair, total: KV(pair.key, (pair.value, total))
)


@pytest.mark.parametrize(
    ("stops", "shards", "resharded"), [((5,), 1, ()), ((3,), 3, ()), ((2, 2, 2), 2, (3, 2))], ids=str
)
def test_waiting_elements_pass_in_order_of_arrival_across_restarts(
    stops: tuple[int, ...], shards: int, resharded: tuple[int, ...]
) -> None:
    """Panes that have waited for a side input are emitted in order of arrival, those of before a restart first."""
    records = [Score("a", number, minute(number)) for number in range(1, 7)]
    timeline = Timeline.from_records(
        SCORES,
        records,
        processing_time=lambda score: score.at,
        watermark=BoundedOutOfOrderness(timedelta(minutes=1)),
    )
    inputs = {SCORES: timeline}
    queries = LocalQueries(shards=shards, stops=stops, resharded=resharded)
    panes = queries.run(SHARES, inputs).panes
    assert panes == Reference(Mode.MICRO_BATCH).run(SHARES, inputs).panes
    assert [value.value for value in final_values(panes)] == [(21, 21)]
