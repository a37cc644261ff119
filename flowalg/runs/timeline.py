"""Timelines: the input of a source over time, as a value (SEMANTICS section 4).

A timeline is a finite sequence of instants. In an instant elements are observed together, then both clocks advance,
then every affected window is evaluated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import evolve, field, frozen

from flowalg.data.errors import ArgumentError, require_count, require_name
from flowalg.data.time import (
    EPOCH,
    MAX_TIME,
    MIN_TIME,
    EventTime,
    ProcessingTime,
    duration_of,
    event_time,
    processing_time,
    require_point,
)
from flowalg.data.views import HasView
from flowalg.runs.micro_batches import (
    Batch,
    GeneratedBy,
    RecordTimes,
    by_number,
    by_period,
    in_batches,
    with_ticks,
)
from flowalg.runs.signals import AnySignal, Signal
from flowalg.watermarks import WatermarkPolicy
from flowalg.watermarks.history import replay_policy

if TYPE_CHECKING:
    from flowalg.pipeline.source import Source

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")
K = TypeVar("K")


@frozen
class Instant(Generic[A_co]):
    """The elements that are observed together, and the clocks at that time.

    ``reached`` is the greatest event time of each partition that is not idle, if a policy made the timeline: the
    watermark waits for the least of them. ``idle_at`` is the processing time at which the source becomes idle unless it
    has another instant before: from then on, other sources do not wait for it. ``awaited`` has the declared partitions
    that have sent nothing yet.
    """

    processing_time: ProcessingTime
    elements: tuple[A_co, ...]
    watermark: EventTime
    percentile_watermarks: Mapping[float, EventTime] = field(factory=dict)
    signals: frozenset[AnySignal] = frozenset()
    reached: Mapping[str, EventTime] = field(factory=dict, eq=False, repr=False)
    idle_at: ProcessingTime | None = None
    awaited: frozenset[str] = field(default=frozenset(), eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        require_point("Instant.processing_time", self.processing_time, ProcessingTime)
        require_point("Instant.watermark", self.watermark, EventTime)
        if self.idle_at is not None:
            require_point("Instant.idle_at", self.idle_at, ProcessingTime)
        if not isinstance(self.elements, tuple):
            raise ArgumentError("Instant.elements", self.elements, "a tuple")
        _require_percentiles("Instant.percentile_watermarks", self.percentile_watermarks)
        for q, point in self.percentile_watermarks.items():
            require_point(f"Instant.percentile_watermarks[{q}]", point, EventTime)
        if not isinstance(self.signals, frozenset) or not all(
            isinstance(signal, str | Signal) for signal in self.signals
        ):
            raise ArgumentError("Instant.signals", self.signals, "a frozenset of names and Signals")


@frozen
class Timeline(HasView, Generic[A_co]):
    """A finite sequence of instants, with processing times and watermarks that never decrease.

    Build a timeline by hand with ``Timeline[Score]().at(...).at(...).end(...)``, or from records that have both times
    with ``from_records``. ``generated_by`` is the policy that generated the watermarks, if one did.

    Example:

    >>> timeline = (
    ...     Timeline[Score]()
    ...     .at(noon(3), Score("red", 5, noon(0)), Score("blue", 7, noon(1)), watermark=noon(1))
    ...     .at(noon(4), watermark=noon(2))
    ...     .at(noon(5), Score("red", 3, noon(1)))
    ...     .end(noon(6))
    ... )
    >>> totals = points.window(FixedWindows(2 * MINUTE)).combine_per_key(Sum())
    >>> for pane in reference.run(totals, {scores: timeline}).panes:
    ...     print(pane.processing_time, pane.key, pane.value, pane.timing.value)
    2024-01-01T12:04:00Z blue 7 on_time
    2024-01-01T12:04:00Z red 5 on_time
    2024-01-01T12:05:00Z red 8 late
    """

    instants: tuple[Instant[A_co], ...] = ()
    generated_by: GeneratedBy | None = field(default=None, eq=False, repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.instants, tuple):
            raise ArgumentError("Timeline.instants", self.instants, "a tuple of instants")
        for instant in self.instants:
            if not isinstance(instant, Instant):
                raise ArgumentError("Timeline.instants", instant, "instants only; at(...) adds one")
        for before, after in zip(self.instants, self.instants[1:], strict=False):
            if after.processing_time < before.processing_time:
                raise ArgumentError(
                    "processing_time",
                    after.processing_time,
                    f"at or after {before.processing_time}",
                )
            if after.watermark < before.watermark:
                valid = f"at or after {before.watermark}"
                raise ArgumentError("watermark", after.watermark, valid)
            for q, point in before.percentile_watermarks.items():
                if after.percentile_watermarks.get(q, point) < point:
                    watermark = after.percentile_watermarks[q]
                    raise ArgumentError(f"percentile_watermarks[{q}]", watermark, f"at or after {point}")

    @property
    def watermark(self) -> EventTime:
        """The watermark after the last instant; ``MIN_TIME`` before the first."""
        return self.instants[-1].watermark if self.instants else MIN_TIME

    @property
    def elements(self) -> tuple[A_co, ...]:
        """The elements of all instants, in order of arrival."""
        return tuple(element for instant in self.instants for element in instant.elements)

    def at(
        self,
        time: datetime,
        *elements: A_co,  # type: ignore[misc]  # the timeline is immutable, so a covariant parameter is sound
        watermark: datetime | None = None,
        percentiles: Mapping[float, datetime] | None = None,
        signals: Iterable[AnySignal] = (),
        idle: bool = False,
    ) -> Timeline[A_co]:
        """Returns the timeline with one more instant, at a processing time; by default the watermark is unchanged.

        ``signals`` are names, or ``Signal`` for one key or window. With ``idle`` the source is idle until its next
        instant: other sources do not wait for its watermark.
        """
        reading = self.watermark if watermark is None else event_time(watermark, argument="watermark")
        percentile_times = {} if percentiles is None else percentiles
        _require_percentiles("percentiles", percentile_times)
        if isinstance(signals, str) or not isinstance(signals, Iterable):
            raise ArgumentError("signals", signals, "the names of signals, such as ['go']")
        given_signals = tuple(signals)
        for signal in given_signals:
            if not isinstance(signal, Signal):
                require_name("signals", signal, "the name of a signal, a str, or a Signal")
        watermarks = dict(self.instants[-1].percentile_watermarks) if self.instants else {}
        for q, point in percentile_times.items():
            watermarks[q] = event_time(point, argument=f"percentiles[{q}]")
        clock = processing_time(time, argument="time")
        if not isinstance(idle, bool):
            raise ArgumentError("idle", idle, "a bool")
        idle_at = clock if idle else None
        instant = Instant(clock, elements, reading, watermarks, frozenset(given_signals), idle_at=idle_at)
        return Timeline((*self.instants, instant))

    def end(self, time: datetime) -> Timeline[A_co]:
        """Returns the timeline with a last instant that ends the input: its watermark is ``MAX_TIME``."""
        return Timeline((*self.instants, Instant(processing_time(time, argument="time"), (), MAX_TIME)))

    @classmethod
    def batch(cls, elements: Iterable[A], *, time: datetime) -> Timeline[A]:
        """Returns a batch: all elements in one instant with the watermark ``MAX_TIME`` (SEMANTICS section 11)."""
        if not isinstance(elements, Iterable):
            raise ArgumentError("elements", elements, "an iterable of elements")
        return Timeline((Instant(processing_time(time, argument="time"), tuple(elements), MAX_TIME),))

    @classmethod
    def micro_batches(
        cls,
        source: Source[A],
        batches: Iterable[Sequence[A]],
        *,
        processing_time: Callable[[A], datetime],
        watermark: WatermarkPolicy,
        partition: Callable[[A], str] | None = None,
        published: Callable[[A], datetime | None] | None = None,
        ends: bool = True,
    ) -> Timeline[A]:
        """Returns a timeline with an instant for each batch of records that have both times.

        The processing time of an instant is the greatest in its batch, and never less than that of the previous
        instant. The policy determines its watermarks. ``partition`` returns the source partition of a record; without
        it there is only one partition. ``published`` returns the watermark that the source publishes for the partition
        with a record, if any. With ``ends`` the input ends after the last batch.
        """
        times = RecordTimes(source, processing_time, partition, published)
        return _from_batches(times, list(in_batches(times, batches)), watermark, ends=ends)

    @classmethod
    def from_records(
        cls,
        source: Source[A],
        records: Iterable[A],
        *,
        processing_time: Callable[[A], datetime],
        watermark: WatermarkPolicy,
        partition: Callable[[A], str] | None = None,
        published: Callable[[A], datetime | None] | None = None,
        every: timedelta | None = None,
        batch_rows: int | None = None,
        tick: timedelta | None = None,
        ends: bool = True,
    ) -> Timeline[A]:
        """Returns the timeline of records that have both times, in order of processing time.

        Records with the same processing time share an instant; with ``every``, records in the same period of processing
        time do, aligned to the epoch; with ``batch_rows``, so many records do. ``tick`` adds an empty instant at every
        multiple of it between the first and the last record. Policies that depend on the clock and idle partitions then
        advance the watermark without records.

        Example:

        >>> timeline = Timeline.from_records(
        ...     scores, RECORDS, processing_time=lambda s: s.at + MINUTE, watermark=BoundedOutOfOrderness(MINUTE)
        ... )
        >>> for instant in timeline:
        ...     print(instant.processing_time, len(instant.elements), instant.watermark)
        2024-01-01T12:01:00Z 1 2024-01-01T11:59:00Z
        2024-01-01T12:02:00Z 1 2024-01-01T12:00:00Z
        2024-01-01T12:04:00Z 1 2024-01-01T12:02:00Z
        2024-01-01T12:04:00Z 0 end of time
        """
        period = 1 if every is None else duration_of("every", every, allow_zero=False)
        times = RecordTimes(source, processing_time, partition, published)
        if batch_rows is None:
            batches = by_period(times, records, period)
        else:
            require_count("batch_rows", batch_rows, "an int of 1 or more, or None")
            if every is not None:
                raise ArgumentError("every", every, "None with batch_rows")
            batches = by_number(times, records, batch_rows)
        if tick is not None:
            batches = with_ticks(batches, duration_of("tick", tick, allow_zero=False))
        return _from_batches(times, list(batches), watermark, ends=ends)

    def __iter__(self) -> Iterator[Instant[A_co]]:
        return iter(self.instants)

    def __len__(self) -> int:
        return len(self.instants)

    def without_end(self) -> Timeline[A_co]:
        """Returns the timeline without the end of its input, as if the input continued."""
        return evolve(
            self, instants=tuple(instant for instant in self.instants if instant.watermark < MAX_TIME)
        )


def as_batch(timelines: Mapping[K, Timeline[A]]) -> dict[K, Timeline[A]]:
    """Returns the timelines as one batch: all elements in one instant, at the last processing time of all.

    If no timeline has an instant, the result is an empty batch at 1970-01-01.
    """
    last = [timeline.instants[-1].processing_time for timeline in timelines.values() if timeline.instants]
    time = max(last).datetime if last else EPOCH
    return {key: Timeline.batch(timeline.elements, time=time) for key, timeline in timelines.items()}


def _from_batches(
    times: RecordTimes[A], batches: list[Batch[A]], policy: WatermarkPolicy, *, ends: bool
) -> Timeline[A]:
    """Returns a timeline with an instant for each batch, and with ``ends`` a last instant that ends the input."""
    if not isinstance(policy, WatermarkPolicy):
        valid = "a watermark policy, such as BoundedOutOfOrderness(timedelta(seconds=30))"
        raise ArgumentError("watermark", policy, valid)
    clocks = list(replay_policy(policy, [batch.instant for batch in batches]))
    instants = [
        Instant(
            batch.instant.processing_time,
            batch.records,
            clock.watermark,
            clock.percentiles,
            reached=clock.reached_by_partition(policy.idle_micros),
            idle_at=policy.idle_at(clock),
            awaited=policy.awaited_partitions(clock),
        )
        for batch, clock in zip(batches, clocks, strict=True)
    ]
    if ends and clocks:
        time = clocks[-1].processing_time
        last = policy.advance(clocks[-1], policy.summarize((), ended=True), time)
        instants.append(Instant(time, (), last.watermark, last.percentiles))
    return Timeline(tuple(instants), generated_by=GeneratedBy.of(policy, times))


def _require_percentiles(argument: str, percentiles: object) -> None:
    if not isinstance(percentiles, Mapping):
        raise ArgumentError(argument, percentiles, "a mapping from percentiles to watermarks")
    for q in percentiles:
        if not isinstance(q, float) or not 0 < q < 1:
            raise ArgumentError(f"a key of {argument}", q, "a float between 0 and 1")
