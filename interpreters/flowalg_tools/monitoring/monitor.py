"""The monitor of a process: an observer that keeps the status of each query."""

from __future__ import annotations

from threading import Lock

from attrs import define, field

from flowalg.runs.events import QueryEvent
from flowalg_tools.monitoring.status import QueryStatus, status_after


@define(eq=False)
class Monitor:
    """An observer that keeps the status of each query by its name. Its methods may be called by any thread.

    Example::

        monitor = Monitor()
        spark.streams.addListener(flowalg_spark.listener(monitor))
        flowalg_polars.streaming.run(totals, inputs, sink=table, name="totals", observers=[monitor])
    """

    _by_name: dict[str, QueryStatus] = field(factory=dict, init=False)
    _lock: Lock = field(factory=Lock, init=False, repr=False)

    def __call__(self, event: QueryEvent) -> None:
        """Receives an event of a query."""
        with self._lock:
            self._by_name[event.query] = status_after(self._by_name.get(event.query), event)

    @property
    def statuses(self) -> tuple[QueryStatus, ...]:
        """The status of each query, by name."""
        with self._lock:
            return tuple(status for _, status in sorted(self._by_name.items()))
