"""The status of a query: the fold of its events."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import assert_never

from attrs import evolve, frozen

from flowalg.runs.events import QueryAdvanced, QueryEnded, QueryEvent, QueryStarted
from flowalg.runs.metrics import QueryProgress


class QueryState(StrEnum):
    """Whether a query runs."""

    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"


@frozen(kw_only=True)
class QueryStatus:
    """The status of a query in this process: how it is, its last micro-batch, and the total of its micro-batches.

    ``since`` is the time of its start, and ``updated`` that of its last event. ``error`` is that of a failed query.
    ``batches`` is the number of its micro-batches, and ``advanced`` the time of the last one. ``last`` is the progress
    of that one, and ``total`` that of all; they are ``None`` before the first one. In ``total``, counts and durations
    add up from the first start of a query of this name in this process, and the state is that after the last
    micro-batch.
    """

    query: str
    state: QueryState
    since: datetime
    updated: datetime
    error: str | None = None
    batches: int = 0
    advanced: datetime | None = None
    last: QueryProgress | None = None
    total: QueryProgress | None = None

    @property
    def rate(self) -> float | None:
        """The elements per second of the last micro-batch; ``None`` if it is unknown."""
        if self.last is None or not self.last.sources or self.last.seconds <= 0:
            return None
        return self.last.elements / self.last.seconds


def status_after(before: QueryStatus | None, event: QueryEvent) -> QueryStatus:
    """Returns the status of a query after an event; ``before`` is ``None`` for its first event."""
    if before is None:
        before = QueryStatus(
            query=event.query, state=QueryState.RUNNING, since=event.time, updated=event.time
        )
    match event:
        case QueryStarted():
            return evolve(before, state=QueryState.RUNNING, since=event.time, updated=event.time, error=None)
        case QueryAdvanced(progress=progress):
            total = progress if before.total is None else before.total.then(progress)
            return evolve(
                before,
                updated=event.time,
                batches=before.batches + 1,
                advanced=event.time,
                last=progress,
                total=total,
            )
        case QueryEnded(error=error):
            state = QueryState.ENDED if error is None else QueryState.FAILED
            return evolve(before, state=state, updated=event.time, error=error)
    assert_never(event)
