"""Records that carry both times, as micro-batches: what timelines are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError, FlowalgError
from flowalg.data.time import EventTime, Micros, ProcessingTime, processing_time
from flowalg.elementwise.functions import user_function_error
from flowalg.watermarks import Observation, SourceInstant

if TYPE_CHECKING:
    from flowalg.pipeline.source import Source

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")


@frozen
class Batch(Generic[A_co]):
    """Records that are observed together, and what the clocks see of them."""

    records: tuple[A_co, ...]
    moment: SourceInstant


@frozen
class Clockwork(Generic[A]):
    """How a record is seen: its source says when it happened, ``seen`` when it came, ``partition`` from where."""

    source: Source[A]
    seen: Callable[[A], datetime]
    partition: Callable[[A], str] | None

    def __attrs_post_init__(self) -> None:
        if not callable(getattr(self.source, "event_time_of", None)):
            raise ArgumentError("source", self.source, "the Source whose records these are")
        if not callable(self.seen):
            raise ArgumentError("processing_time", self.seen, "a function from a record to when it was seen")
        if self.partition is not None and not callable(self.partition):
            raise ArgumentError("partition", self.partition, "a function from a record to a str, or None")

    def observation(self, record: A) -> Observation:
        """What the clocks see of a record; raises ``UserFunctionError`` when a function of the user's does."""
        seen = ProcessingTime(_point("processing_time", self.seen, record))
        event = EventTime(_point("event_time", self.source.event_time_of, record))
        return Observation(self._partition(record), event, seen)

    def _partition(self, record: A) -> str:
        if self.partition is None:
            return ""
        name = _called("partition", self.partition, record)
        if not isinstance(name, str):
            raise ArgumentError("the partition of a record", name, "a str")
        return name


def in_batches(clockwork: Clockwork[A], batches: Iterable[Sequence[A]]) -> Iterator[Batch[A]]:
    """The batches, each at the greatest processing time in it, and never before the one before.

    A batch without records has the time of the one before it; there is none before the first record.
    """
    time: ProcessingTime | None = None
    for batch in require_iterable("batches", batches, "sequences of records"):
        require_iterable("a batch", batch, "records")
        observations = tuple(map(clockwork.observation, batch))
        seen = [observation.processing_time for observation in observations]
        time = max(seen if time is None else [time, *seen], default=None)
        if time is not None:
            yield Batch(tuple(batch), SourceInstant(time, observations))


def by_period(clockwork: Clockwork[A], records: Iterable[A], period: Micros) -> Iterator[Batch[A]]:
    """The records of each period of processing time, in order; periods are aligned to the epoch."""
    pairs = [(clockwork.observation(one), one) for one in require_iterable("records", records, "records")]
    pairs.sort(key=lambda pair: pair[0].processing_time)
    for _, group in groupby(pairs, key=lambda pair: pair[0].processing_time // period):
        observations, together = zip(*group, strict=True)
        yield Batch(together, SourceInstant(observations[-1].processing_time, observations))


def with_ticks(batches: Iterable[Batch[A]], tick: Micros) -> Iterator[Batch[A]]:
    """The batches, and an empty one at each multiple of the tick between them at which there is none."""
    before: ProcessingTime | None = None
    for batch in batches:
        now = batch.moment.processing_time
        if before is not None:
            for time in range((before // tick + 1) * tick, now, tick):
                yield Batch((), SourceInstant(ProcessingTime(time)))
        yield batch
        before = now


def require_iterable(argument: str, value: Iterable[B], of: str) -> Iterable[B]:
    """The value, if it can be iterated over; raises ``ArgumentError`` otherwise."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ArgumentError(argument, value, f"an iterable of {of}")
    return value


def _point(argument: str, f: Callable[[A], datetime], record: A) -> int:
    return processing_time(_called(argument, f, record), argument=argument)


def _called(argument: str, f: Callable[[A], B], record: A) -> B:
    try:
        return f(record)
    except FlowalgError:
        raise
    except Exception as cause:
        raise user_function_error(argument, f, record, cause) from cause


__all__ = ["Batch", "Clockwork", "by_period", "in_batches", "with_ticks"]
