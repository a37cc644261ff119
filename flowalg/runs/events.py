"""The events of running queries, which engines report to observers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeAlias

from attrs import frozen

from flowalg.runs.metrics import QueryProgress


@frozen
class QueryStarted:
    """A query with this name has started; ``time`` is the time of the event."""

    query: str
    time: datetime


@frozen
class QueryAdvanced:
    """A query has committed a micro-batch."""

    query: str
    time: datetime
    progress: QueryProgress


@frozen
class QueryEnded:
    """A query has ended or was stopped; ``error`` is the error of one that failed."""

    query: str
    time: datetime
    error: str | None = None


QueryEvent: TypeAlias = QueryStarted | QueryAdvanced | QueryEnded
"""What happens to a running query."""

Observer: TypeAlias = Callable[[QueryEvent], object]
"""A function that engines call with the events of queries. It may be called by several threads."""


def call_observers(observers: Iterable[Observer], event: QueryEvent) -> None:
    """Calls all observers with an event, and then raises the first error of one."""
    errors: list[BaseException] = []
    for observer in observers:
        try:
            observer(event)
        except BaseException as error:
            errors.append(error)
    if errors:
        raise errors[0]
