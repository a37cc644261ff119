"""The input of a job: records in micro-batches, which can be converted to a timeline, a file or a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Generic, TypeVar, cast

from attrs import evolve, field, frozen

from flowalg import Source, Timeline
from flowalg.analysis.features import AnyFeature, Feature, features_of_policy
from flowalg.data.errors import ArgumentError
from flowalg.runs import Signal
from flowalg.runs.signals import AnySignal
from flowalg.watermarks import WatermarkPolicy

A_co = TypeVar("A_co", covariant=True)


@frozen
class Feed(Generic[A_co]):
    """The input of one source: micro-batches of records with both times, and the watermark policy.

    ``seen`` names the field of a record with its processing time, and ``partition`` the field with its partition, if
    any. ``published`` returns the watermark that a record carries for its partition, if the source publishes any.
    ``signals`` are the signals of each micro-batch, by its number.
    """

    source: Source[A_co]
    record: type[A_co]
    batches: tuple[tuple[A_co, ...], ...] = field()
    policy: WatermarkPolicy
    seen: str = "seen"
    partition: str | None = None
    signals: Mapping[int, frozenset[AnySignal]] = field(factory=dict)
    published: Callable[[A_co], datetime | None] | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.batches, tuple) or (self.batches and not self.batches[0]):
            valid = "a tuple of micro-batches, the first of which has a record"
            raise ArgumentError("Feed.batches", self.batches, valid)

    @property
    def records(self) -> tuple[A_co, ...]:
        """All records in order of arrival, the input of a batch."""
        return tuple(record for batch in self.batches for record in batch)

    def seen_at(self, record: object) -> datetime:
        """Returns the processing time of a record."""
        return cast("datetime", getattr(record, self.seen))

    def partition_of(self, record: object) -> str:
        """Returns the partition of a record."""
        return "" if self.partition is None else str(getattr(record, self.partition))

    def timeline(self, *, ends: bool) -> Timeline[A_co]:
        """Returns a timeline with an instant for each micro-batch, and with ``ends`` the end of the input."""
        timeline = Timeline.micro_batches(
            self.source,
            self.batches,
            processing_time=self.seen_at,
            watermark=self.policy,
            partition=None if self.partition is None else self.partition_of,
            published=self.published,
            ends=ends,
        )
        instants = tuple(
            evolve(instant, signals=self.signals.get(number, frozenset()))
            for number, instant in enumerate(timeline)
        )
        return evolve(timeline, instants=instants)

    @property
    def features(self) -> frozenset[AnyFeature]:
        """The features that an interpreter needs for it."""
        options: set[AnyFeature] = {Feature.PARTITIONS} if self.partition is not None else set()
        signals = frozenset[AnySignal]().union(*self.signals.values())
        if any(isinstance(signal, Signal) for signal in signals):
            options.add(Feature.SIGNALS_TO_KEYS)
        return features_of_policy(self.policy, publishes=self.published is not None) | options


@frozen
class Replay:
    """The input of all sources of a pipeline; with ``ends`` it ends after the last micro-batch."""

    feeds: tuple[Feed[object], ...]
    ends: bool = True

    @property
    def timelines(self) -> dict[Source[object], Timeline[object]]:
        """The timeline of each source."""
        return {feed.source: feed.timeline(ends=self.ends) for feed in self.feeds}

    @property
    def features(self) -> frozenset[AnyFeature]:
        """The features that an interpreter needs for it."""
        return frozenset[AnyFeature]().union(*(feed.features for feed in self.feeds))
