"""A live view of a streaming query in a terminal: its watermarks, rates, panes, drops and state."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, event_time
from flowalg.runs.events import QueryAdvanced, QueryStarted
from flowalg.runs.metrics import DROP_COUNTS, PANE_COUNTS, QueryProgress
from flowalg_tools.monitoring.status import QueryStatus, status_after

if TYPE_CHECKING:
    from flowalg_polars.streaming import MicroBatch
    from pyspark.sql.streaming.query import StreamingQuery


A = TypeVar("A")

_COLUMNS: Final = (
    "stage",
    "watermark",
    "lag",
    "windows",
    "state",
    "early",
    "on time",
    "late",
    "retracted",
    "dropped",
    "step",
)
EVERY: Final = 1
"""The refresh interval of the view, in seconds."""


def table_of(status: QueryStatus) -> Table:
    """Returns the view of a query: a line for each stage. The query has had a micro-batch."""
    last, total = status.last, status.total
    assert last is not None, "a view is shown after a micro-batch"
    assert total is not None, "a micro-batch has a total"
    rate = "" if status.rate is None else f"{status.rate:,.0f} elements/s, "
    title = f"batch {last.batch}: {total.elements:,} elements so far, {rate}{last.seconds:.2f} s a batch"
    if total.bad_records:
        title += f", {total.bad_records:,} bad records"
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("stage", "watermark") else "right")
    steps = {stage.number: stage.step_seconds for stage in last.stages}
    for stage in total.stages:
        table.add_row(
            stage.stage,
            _point(stage.watermark),
            "" if stage.watermark_lag is None else f"{stage.watermark_lag:,.1f} s",
            f"{stage.windows:,}",
            _size(stage.state_bytes),
            *(f"{getattr(stage, name):,}" for name in PANE_COUNTS),
            f"{sum(getattr(stage, name) for name in DROP_COUNTS):,}",
            f"{steps.get(stage.number, 0):.2f} s",
        )
    return table


def watch(query: StreamingQuery, *, console: Console | None = None) -> None:
    """Shows the progress of a query until it ends, and raises its error if it fails.

    The query must be compiled with ``streaming.compile(..., metrics=True)``. Nothing is shown if the output is not a
    terminal. A keyboard interrupt ends the view, but not the query.
    """
    if not callable(getattr(query, "awaitTermination", None)):
        raise ArgumentError("query", query, "a StreamingQuery, which writeStream.start() returns")
    out = Console(file=sys.stderr) if console is None else console
    if not out.is_terminal:
        query.awaitTermination()
        return
    # A query exists only if Spark is installed.
    from flowalg_spark import query_progress

    status = _started()
    with Live(Spinner("dots", "waiting for the first batch"), console=out) as view:
        ended = False
        while not ended:
            ended = bool(query.awaitTermination(EVERY))
            for report in query.recentProgress:
                progress = query_progress(report)
                if progress is not None and (status.last is None or progress.batch > status.last.batch):
                    status = _after(status, progress)
            if status.last is not None:
                view.update(table_of(status))


def show(batches: Iterable[MicroBatch[A]], *, console: Console | None = None) -> Iterator[MicroBatch[A]]:
    """Yields the micro-batches of a local query, and shows its progress until it ends.

    The batches are those of ``flowalg_polars.streaming.batches(..., metrics=True)``. Nothing is shown if the output is
    not a terminal.

    Example::

        for batch in show(streaming.batches(totals, {scores: stream}, metrics=True)):
            batch.write_to(table)
    """
    out = Console(file=sys.stderr) if console is None else console
    if not out.is_terminal:
        yield from batches
        return
    status = _started()
    with Live(Spinner("dots", "waiting for the first batch"), console=out) as view:
        started = perf_counter()
        for batch in batches:
            if not batch.metrics:
                raise ArgumentError("batches", batch, "micro-batches with metrics: pass metrics=True")
            status = _after(status, batch.progress(perf_counter() - started))
            view.update(table_of(status))
            yield batch
            started = perf_counter()


def _started() -> QueryStatus:
    return status_after(None, QueryStarted("", datetime.now(UTC)))


def _after(status: QueryStatus, progress: QueryProgress) -> QueryStatus:
    return status_after(status, QueryAdvanced("", datetime.now(UTC), progress))


def _point(time: datetime) -> str:
    """Returns a watermark, to the second."""
    if not MIN_TIME < event_time(time) < MAX_TIME:
        return "none yet" if event_time(time) <= MIN_TIME else "the end"
    return f"{time:%Y-%m-%d %H:%M:%S}"


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
