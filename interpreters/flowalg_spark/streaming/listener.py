"""The events of a session's streaming queries, for observers."""

from __future__ import annotations

from datetime import UTC, datetime

from attrs import define, field
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from flowalg.data.errors import ArgumentError
from flowalg.runs.events import (
    Observer,
    QueryAdvanced,
    QueryEnded,
    QueryEvent,
    QueryStarted,
    call_observers,
)
from flowalg_spark.callbacks import exits_as_errors
from flowalg_spark.streaming.metrics import query_progress


def listener(*observers: Observer) -> StreamingQueryListener:
    """Returns a listener that calls observers with the events of all queries of a session.

    A query has the name that ``queryName`` gave it, by default its id. It is compiled with
    ``streaming.compile(..., metrics=True)``; otherwise its progress has no stages and sources. Spark logs the error of
    an observer, also one that exits, as by ``sys.exit()``, and continues. Raises ``ArgumentError`` for an observer that
    is not a function.

    Example::

        spark.streams.addListener(listener(monitor))
    """
    for observer in observers:
        if not callable(observer):
            raise ArgumentError("observers", observer, "functions of a QueryEvent")
    return _Listener(observers)


@define(eq=False)
class _Listener(StreamingQueryListener):
    """Calls the observers; ``names`` has the names of the queries that have started, by id."""

    observers: tuple[Observer, ...]
    names: dict[str, str] = field(factory=dict)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Reports the start of a query."""
        self._report(QueryStarted(self._name(str(event.id), event.name), datetime.now(UTC)))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Reports a micro-batch."""
        progress = query_progress(event.progress)
        if progress is not None:
            name = self._name(str(event.progress.id), event.progress.name)
            self._report(QueryAdvanced(name, datetime.now(UTC), progress))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Reports nothing: the query waits for data."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Reports the end of a query, with its error if it failed."""
        self._report(QueryEnded(self._name(str(event.id), None), datetime.now(UTC), event.exception))

    def _name(self, query: str, name: str | None) -> str:
        """Returns the name of a query; the event of its end has only its id."""
        if name is not None:
            self.names[query] = name
        return self.names.get(query, query)

    def _report(self, event: QueryEvent) -> None:
        with exits_as_errors("an observer"):
            call_observers(self.observers, event)
