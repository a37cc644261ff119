"""The metrics of a running query: what a micro-batch did, and the state of the query after it.

The classes here are the one list of their fields: engines derive their schemas from them, and monitoring reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from attrs import evolve, frozen

from flowalg.data.time import EventTime
from flowalg.runs.signals import KeyText, Signal


@frozen
class SignalToKey:
    """A signal to the windows of a key, or to one of them; ``key`` is the key as canonical JSON text."""

    name: str
    key: str
    start: EventTime | None = None
    end: EventTime | None = None

    @classmethod
    def of(cls, signal: Signal) -> SignalToKey:
        """Returns the signal as metrics keep it."""
        window = signal.window
        bounds = () if window is None else (window.start, window.end)
        return cls(signal.name, KeyText.of(signal.key).text, *bounds)


@frozen
class SourceMetrics:
    """The contribution of a source to a micro-batch, and its clock after it.

    ``elements`` is the number of its elements, ``signals`` the names of its signals to all windows, ``signals_to_keys``
    its other signals, and ``reached`` the greatest event time of each partition that is not idle.
    ``percentile_watermarks`` has the percentiles as text, as in JSON. Other sources do not wait for an ``idle`` one.
    ``awaited`` has the declared partitions without records. ``changed_files`` counts the files that were found to have
    changed after they were read, each once.
    """

    source: str
    elements: int
    watermark: EventTime
    percentile_watermarks: Mapping[str, EventTime]
    signals: tuple[str, ...]
    reached: Mapping[str, EventTime]
    idle: bool = False
    awaited: tuple[str, ...] = ()
    signals_to_keys: tuple[SignalToKey, ...] = ()
    changed_files: int = 0

    def then(self, later: SourceMetrics) -> SourceMetrics:
        """Returns the metrics after a later micro-batch: elements and changed files add up, the rest is that of the
        later.
        """
        return evolve(
            later,
            elements=self.elements + later.elements,
            changed_files=self.changed_files + later.changed_files,
        )


@frozen(kw_only=True)
class Counts:
    """Metrics that add up: those of a stage are the sums over its shards.

    ``windows`` is the number of live windows after the micro-batch, and ``state_bytes`` their approximate size. The
    windows of a side input are those that elements may still read; each shard has all of them, and the first counts.
    ``early``, ``on_time`` and ``late`` count the emitted panes by timing, and ``retraction`` the retracted ones.
    ``expired``, ``closed`` and ``dropped_late`` count the dropped elements by reason. The windows of a computation are
    its keys. ``unfired_timers`` counts the timers that were set when the input had ended, which do not fire.
    """

    windows: int = 0
    state_bytes: int = 0
    early: int = 0
    on_time: int = 0
    late: int = 0
    retraction: int = 0
    expired: int = 0
    closed: int = 0
    dropped_late: int = 0
    unfired_timers: int = 0


PANE_COUNTS: Final = ("early", "on_time", "late", "retraction")
"""The counts of emitted panes, by kind."""

DROP_COUNTS: Final = ("expired", "closed", "dropped_late")
"""The counts of dropped elements, by reason."""

_OVER_TIME: Final = (*PANE_COUNTS, *DROP_COUNTS, "unfired_timers", "elements", "step_seconds")
"""The metrics of a stage that add up over micro-batches; the others describe its state after the last one."""


@frozen(kw_only=True)
class StageMetrics(Counts):
    """The metrics of one stage in one micro-batch.

    ``number`` is the position of the ``stage`` in the pipeline, from 0. ``processing_time`` and ``watermark`` are its
    clocks, and ``watermark_lag`` is their difference in seconds; it is ``None`` before the first watermark, and after
    the end of the input. ``elements`` is the number of elements from the sources that flow into it directly.
    ``step_seconds`` is the time that its slowest shard took. The others are sums over its shards, as in ``Counts``.
    """

    number: int
    stage: str
    processing_time: datetime
    watermark: datetime
    watermark_lag: float | None
    elements: int
    step_seconds: float

    def then(self, later: StageMetrics) -> StageMetrics:
        """Returns the metrics after a later micro-batch: panes, drops, elements and durations add up, the rest is the
        later.
        """
        return evolve(later, **{name: getattr(self, name) + getattr(later, name) for name in _OVER_TIME})


@frozen(kw_only=True)
class QueryProgress:
    """What a query did in a micro-batch, and its state after it: the same value on every engine.

    ``batch`` is the number of the micro-batch, ``processing_time`` its time, and ``seconds`` its duration: reading, all
    stages, sinks and the commit. ``bad_records`` is the number of its dead letters. ``stages`` are in the order of the
    pipeline, and ``sources`` by name.
    """

    batch: int
    processing_time: datetime
    seconds: float
    bad_records: int
    stages: tuple[StageMetrics, ...]
    sources: tuple[SourceMetrics, ...]

    @property
    def elements(self) -> int:
        """The number of elements of all sources."""
        return sum(source.elements for source in self.sources)

    def then(self, later: QueryProgress) -> QueryProgress:
        """Returns the progress of two micro-batches: counts and durations add up, the state is that after the later
        one.

        It is associative. A stage or source without metrics in the later micro-batch keeps those that it has.
        """
        stages = {stage.number: stage for stage in self.stages}
        for stage in later.stages:
            before = stages.get(stage.number)
            stages[stage.number] = stage if before is None else before.then(stage)
        sources = {source.source: source for source in self.sources}
        for source in later.sources:
            earlier = sources.get(source.source)
            sources[source.source] = source if earlier is None else earlier.then(source)
        return evolve(
            later,
            seconds=self.seconds + later.seconds,
            bad_records=self.bad_records + later.bad_records,
            stages=tuple(stage for _, stage in sorted(stages.items())),
            sources=tuple(source for _, source in sorted(sources.items())),
        )
