"""A live view of a streaming query in a terminal: its watermarks, rates, panes, drops and state."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from attrs import define, field
from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, event_time

if TYPE_CHECKING:
    from flowalg_polars.streaming import MicroBatch
    from flowalg_shard.metrics import StageMetrics
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

A = TypeVar("A")

_COUNTS: Final = ("early", "on_time", "late", "retraction", "expired", "closed", "dropped_late")
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


@define
class QueryView:
    """The progress of a query: its last batch, and the totals of panes and drops by stage."""

    batch: int = -1
    rows: int = 0
    rate: float = 0.0
    seconds: float = 0.0
    bad_records: int = 0
    stages: dict[int, StageMetrics] = field(factory=dict)
    totals: dict[int, Counter[str]] = field(factory=dict)

    def update(self, progress: Iterable[StreamingQueryProgress]) -> None:
        """Adds the progress of new batches; batches that are already included are ignored."""
        # A query exists only if Spark is installed.
        from flowalg_spark import bad_records, stage_metrics

        for batch in progress:
            if batch.batchId <= self.batch or "addBatch" not in batch.durationMs:
                continue
            self.add(
                batch.batchId,
                batch.numInputRows,
                batch.processedRowsPerSecond,
                batch.durationMs["triggerExecution"] / 1000,
                bad_records(batch),
                stage_metrics(batch),
            )

    def add(
        self,
        batch: int,
        rows: int,
        rate: float,
        seconds: float,
        bad_records: int,
        stages: Iterable[StageMetrics],
    ) -> None:
        """Adds a batch."""
        self.batch, self.rate, self.seconds = batch, rate, seconds
        self.rows += rows
        self.bad_records += bad_records
        for stage in stages:
            self.stages[stage.number] = stage
            totals = self.totals.setdefault(stage.number, Counter())
            for name in _COUNTS:
                totals[name] += getattr(stage, name)

    @property
    def table(self) -> Table:
        """The view: a line for each stage."""
        title = (
            f"batch {self.batch}: {self.rows:,} rows so far, {self.rate:,.0f} rows/s, "
            f"{self.seconds:.2f} s a batch"
        )
        if self.bad_records:
            title += f", {self.bad_records:,} bad records"
        table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
        for name in _COLUMNS:
            table.add_column(name, justify="left" if name in ("stage", "watermark") else "right")
        for number, stage in sorted(self.stages.items()):
            totals = self.totals[number]
            counts = (f"{totals[name]:,}" for name in ("early", "on_time", "late", "retraction"))
            table.add_row(
                stage.stage,
                _point(stage.watermark),
                "" if stage.watermark_lag is None else f"{stage.watermark_lag:,.1f} s",
                f"{stage.windows:,}",
                _size(stage.state_bytes),
                *counts,
                f"{totals['expired'] + totals['closed'] + totals['dropped_late']:,}",
                f"{stage.step_seconds:.2f} s",
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
    progress = QueryView()
    if not out.is_terminal:
        query.awaitTermination()
        return
    with Live(Spinner("dots", "waiting for the first batch"), console=out) as view:
        ended = False
        while not ended:
            ended = bool(query.awaitTermination(EVERY))
            progress.update(query.recentProgress)
            if progress.batch >= 0:
                view.update(progress.table)


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
    progress = QueryView()
    with Live(Spinner("dots", "waiting for the first batch"), console=out) as view:
        started = perf_counter()
        for batch in batches:
            if not batch.metrics:
                raise ArgumentError("batches", batch, "micro-batches with metrics: pass metrics=True")
            seconds, rows = perf_counter() - started, sum(source.elements for source in batch.sources)
            progress.add(batch.number, rows, rows / seconds, seconds, len(batch.bad_records), batch.metrics)
            view.update(progress.table)
            yield batch
            started = perf_counter()


def _point(time: datetime) -> str:
    """A watermark, to the second."""
    if not MIN_TIME < event_time(time) < MAX_TIME:
        return "none yet" if event_time(time) <= MIN_TIME else "the end"
    return f"{time:%Y-%m-%d %H:%M:%S}"


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


__all__ = ["QueryView", "show", "watch"]
