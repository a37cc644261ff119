"""Micro-batches of records that have both times, from which timelines are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from attrs import frozen

from flowalg.data.errors import ArgumentError, is_frame, require_text
from flowalg.data.time import EventTime, Micros, ProcessingTime, event_time, processing_time
from flowalg.elementwise.functions import user_function_error
from flowalg.watermarks import Observation, WatermarkPolicy
from flowalg.watermarks.history import SourceInstant

if TYPE_CHECKING:
    from flowalg.pipeline.source import Source

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")


@frozen
class Batch(Generic[A_co]):
    """Records that are observed together, with their observations."""

    records: tuple[A_co, ...]
    instant: SourceInstant


@frozen
class RecordTimes(Generic[A]):
    """The times and the partition of a record: functions for its event time, processing time and partition.

    ``published`` returns the watermark that a record carries for its partition, or ``None``.
    """

    source: Source[A]
    processing_time: Callable[[A], datetime]
    partition: Callable[[A], str] | None
    published: Callable[[A], datetime | None] | None = None

    def __attrs_post_init__(self) -> None:
        if not callable(getattr(self.source, "event_time_of", None)):
            raise ArgumentError("source", self.source, "the Source of the records")
        if not callable(self.processing_time):
            raise ArgumentError(
                "processing_time", self.processing_time, "a function from a record to its processing time"
            )
        if self.partition is not None and not callable(self.partition):
            raise ArgumentError("partition", self.partition, "a function from a record to a str, or None")
        if self.published is not None and not callable(self.published):
            valid = "a function from a record to the watermark that it carries, or None"
            raise ArgumentError("published", self.published, valid)

    def observation(self, record: A) -> Observation:
        """Returns the observation of a record; raises ``UserFunctionError`` if a user function raises."""
        arrival = ProcessingTime(_point("processing_time", self.processing_time, record))
        event = event_time(self.source.event_time_of(record, arrival.datetime), argument="event_time")
        return Observation(self._partition(record), event, arrival, self._published(record))

    def _published(self, record: A) -> EventTime | None:
        point = None if self.published is None else _call("published", self.published, record)
        return None if point is None else event_time(point, argument="the published watermark of a record")

    def _partition(self, record: A) -> str:
        if self.partition is None:
            return ""
        name = _call("partition", self.partition, record)
        require_text("the partition of a record", name)
        return name


@frozen
class GeneratedBy:
    """How the watermarks of a timeline were generated: by a policy, from what its clocks observed of each record.

    An interpreter that generates watermarks itself can do so again from the records, with the same policy.
    ``publishes`` says that records carry watermarks.
    """

    policy: WatermarkPolicy
    observe: Callable[[object], Observation]
    publishes: bool = False

    @classmethod
    def of(cls, policy: WatermarkPolicy, times: RecordTimes[A]) -> GeneratedBy:
        """By a policy, from the times of records; those of its timeline are of the type that the times are of."""
        observe = cast("Callable[[object], Observation]", times.observation)
        return cls(policy, observe, times.published is not None)

    def source_instant(self, time: ProcessingTime, records: Iterable[object]) -> SourceInstant:
        """Returns what the clocks observe in an instant."""
        return SourceInstant(time, tuple(map(self.observe, records)))


def in_batches(times: RecordTimes[A], batches: Iterable[Sequence[A]]) -> Iterator[Batch[A]]:
    """Yields each batch at its greatest processing time, which never decreases.

    An empty batch has the time of the previous batch; empty batches before the first record are skipped.
    """
    time: ProcessingTime | None = None
    for batch in require_iterable("batches", batches, "sequences of records"):
        require_iterable("a batch", batch, "records")
        observations = tuple(map(times.observation, batch))
        arrivals = [observation.processing_time for observation in observations]
        time = max(arrivals if time is None else [time, *arrivals], default=None)
        if time is not None:
            yield Batch(tuple(batch), SourceInstant(time, observations))


def by_period(times: RecordTimes[A], records: Iterable[A], period: Micros) -> Iterator[Batch[A]]:
    """Yields the records of each period of processing time, in order; periods are aligned to the epoch."""
    in_order = _in_order(times, records)
    for _, group in groupby(in_order, key=lambda pair: pair[0].processing_time // period):
        yield _batch_of(list(group))


def by_number(times: RecordTimes[A], records: Iterable[A], rows: int) -> Iterator[Batch[A]]:
    """Yields some number of records at a time, in order of processing time."""
    in_order = _in_order(times, records)
    for start in range(0, len(in_order), rows):
        yield _batch_of(in_order[start : start + rows])


def _in_order(times: RecordTimes[A], records: Iterable[A]) -> list[tuple[Observation, A]]:
    pairs = [
        (times.observation(record), record) for record in require_iterable("records", records, "records")
    ]
    return sorted(pairs, key=lambda pair: pair[0].processing_time)


def _batch_of(pairs: Sequence[tuple[Observation, A]]) -> Batch[A]:
    observations, together = zip(*pairs, strict=True)
    return Batch(together, SourceInstant(observations[-1].processing_time, observations))


def with_ticks(batches: Iterable[Batch[A]], tick: Micros) -> Iterator[Batch[A]]:
    """Yields the batches, and an empty batch at each multiple of the tick between them."""
    before: ProcessingTime | None = None
    for batch in batches:
        now = batch.instant.processing_time
        if before is not None:
            for time in multiples_between(before, now, tick):
                yield Batch((), SourceInstant(time))
        yield batch
        before = now


def multiples_between(start: ProcessingTime, end: ProcessingTime, period: Micros) -> Iterator[ProcessingTime]:
    """Yields the multiples of a period after one processing time and before another."""
    yield from map(ProcessingTime, range((start // period + 1) * period, end, period))


def require_iterable(argument: str, value: Iterable[B], of: str) -> Iterable[B]:
    """Returns the value, which must be iterable; raises ``ArgumentError`` if it is not."""
    if isinstance(value, str | bytes) or is_frame(value) or not isinstance(value, Iterable):
        raise ArgumentError(argument, value, f"an iterable of {of}, such as a list")
    return value


def _point(argument: str, f: Callable[[A], datetime], record: A) -> int:
    return processing_time(_call(argument, f, record), argument=argument)


def _call(argument: str, f: Callable[[A], B], record: A) -> B:
    try:
        return f(record)
    except Exception as cause:
        raise user_function_error(argument, f, record, cause) from cause
