"""Visits that merge into sessions, and their panes in the reference: the query for the tests of sinks."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import flowalg_reference as reference
from attrs import frozen

from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Mode,
    Sessions,
    Source,
    Timeline,
)
from tests.support.scores import NOON

MINUTE: Final = timedelta(minutes=1)


@frozen
class Visit:
    """A visit, whose visitor may be unknown and whose duration may be NaN."""

    visitor: str | None
    page: str
    seconds: float
    at: datetime
    seen: datetime


@frozen
class Last:
    """The last page and time of some visits."""

    page: str
    at: datetime


@frozen
class Summary:
    """A record of values of many kinds."""

    count: int
    seconds: float
    exact: Decimal
    lasted: timedelta
    pages: frozenset[str]
    last: Last
    before: Last | None


def summarize(of_visitor: list[Visit]) -> Summary:
    """Returns the summary of some visits."""
    *before, last = sorted((visit.at, visit.page) for visit in of_visitor)
    return Summary(
        len(of_visitor),
        sum(visit.seconds for visit in of_visitor),
        Decimal(len(of_visitor)) / 4,
        last[0] - min(visit.at for visit in of_visitor),
        frozenset(visit.page for visit in of_visitor),
        Last(last[1], last[0]),
        Last(before[-1][1], before[-1][0]) if before else None,
    )


VISITS: Final = Source("visits", Visit, event_time=lambda visit: visit.at)
PIPELINE: Final = (
    VISITS.key_by(lambda visit: visit.visitor)
    .window(
        Sessions(2 * MINUTE),
        trigger=AtWatermark().with_early_firings(AtCount(2)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=2 * MINUTE,
    )
    .group_by_key()
    .map_values(summarize, result=Summary)
)


def visits(seed: int) -> tuple[tuple[Visit, ...], ...]:
    """Returns micro-batches of visits, many of them late, and some too late."""
    rng = random.Random(seed)

    def visit(batch: int) -> Visit:
        late = rng.choice([0, 0, 1, 1, 2, 3, 5, 9]) * MINUTE
        return Visit(
            rng.choice(["a", "b", "", None]),
            rng.choice(["x", "ÿ", "'"]),
            rng.choice([0.5, 0.5, 1.5, float("inf"), float("nan")]),
            NOON + batch * MINUTE - late,
            NOON + batch * MINUTE,
        )

    return tuple(tuple(visit(batch) for _ in range(rng.randrange(2, 7))) for batch in range(9))


TIMELINE: Final = Timeline.micro_batches(
    VISITS, visits(7), processing_time=lambda visit: visit.seen, watermark=BoundedOutOfOrderness(MINUTE)
)
RUN: Final = reference.run(PIPELINE, {VISITS: TIMELINE}, mode=Mode.MICRO_BATCH)
