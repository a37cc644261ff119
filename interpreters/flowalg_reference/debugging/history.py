"""The instants of a run as a sequence, of which a replay of some elements visits only a few."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from attrs import frozen

from flowalg.data.kv import KV
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.nodes import GroupingNode
from flowalg.runs.clocks import BEGINNING, minimum
from flowalg.runs.elements import Element
from flowalg.runs.instants import PipelineInstant, pipeline_instants
from flowalg.runs.timeline import Instant, Timeline
from flowalg.windows.window import Window
from flowalg_reference.bad_records import BadRecords
from flowalg_reference.debugging.selection import Selection
from flowalg_reference.operators import Operators


class History(Protocol):
    """The instants of a run: their clocks for all of them, and their records where they are needed.

    ``times`` and ``watermarks`` have the processing time of each instant and the least watermark of its sources, in
    microseconds since the epoch; neither decreases.
    """

    @property
    def times(self) -> Sequence[int]:
        """The processing time of each instant."""
        ...

    @property
    def watermarks(self) -> Sequence[int]:
        """The watermark of the union of all sources in each instant."""
        ...

    @property
    def sources(self) -> Iterable[str]:
        """The names of all sources of the run."""
        ...

    @property
    def dead_letters(self) -> bool:
        """Whether the run kept bad records apart."""
        ...

    def latest(self, source: str, until: ProcessingTime) -> Instant[object] | None:
        """Returns the last instant of a source at or before a processing time, of which only the clocks are read."""
        ...

    def arrivals(self, grouping: GroupingNode, first: int, last: int) -> Iterator[tuple[object, EventTime]]:
        """Yields the key and the event time of the elements that a grouping receives in a range of instants."""
        ...

    def keys_within(self, grouping: GroupingNode, span: Window) -> Iterable[object]:
        """Returns the keys of the elements that a grouping receives with an event time in a span."""
        ...

    def first_event_time(self, grouping: GroupingNode, start: EventTime) -> EventTime | None:
        """Returns the least event time at or after a point, of the elements that a grouping receives."""
        ...

    def last_event_time(self, grouping: GroupingNode, end: EventTime) -> EventTime | None:
        """Returns the greatest event time before a point, of the elements that a grouping receives."""
        ...

    def select(self, grouping: GroupingNode, selection: Selection) -> SelectedInstants:
        """Returns the instants with the selected elements of a grouping."""
        ...


class SelectedInstants(Protocol):
    """The instants of a run in a replay of selected elements.

    ``busy`` has the numbers of the instants with a selected element or a signal, in order.
    """

    @property
    def busy(self) -> Sequence[int]:
        """The numbers of the instants in which a selected element or a signal arrives."""
        ...

    def at(self, number: int) -> PipelineInstant:
        """Returns an instant; it has at least the records of selected elements."""
        ...


@frozen(eq=False)
class TimelineHistory:
    """The history of timelines by the name of their source."""

    timelines: Mapping[str, Timeline[object]]
    dead_letters: bool = False

    @property
    def sources(self) -> Iterable[str]:
        """The names of all sources of the run."""
        return self.timelines

    @cached_property
    def instants(self) -> tuple[PipelineInstant, ...]:
        """The instants of the pipeline."""
        return tuple(pipeline_instants(self.timelines))

    @property
    def times(self) -> Sequence[int]:
        """The processing time of each instant."""
        return self._times

    @cached_property
    def _times(self) -> Sequence[int]:
        return [instant.processing_time for instant in self.instants]

    @property
    def watermarks(self) -> Sequence[int]:
        """The watermark of the union of all sources in each instant."""
        return self._watermarks

    @cached_property
    def _watermarks(self) -> Sequence[int]:
        clocks, watermarks = BEGINNING, []
        for instant in self.instants:
            clocks = minimum([*instant.clocks.values()], clocks)
            watermarks.append(clocks.watermark)
        return watermarks

    @property
    def everything(self) -> SelectedInstants:
        """All instants, with all elements."""
        return _Selected(range(len(self.instants)), self.instants)

    def latest(self, source: str, until: ProcessingTime) -> Instant[object] | None:
        """Returns the last instant of a source at or before a processing time."""
        instants = self.timelines[source].instants
        number = bisect_right(instants, until, key=lambda instant: instant.processing_time)
        return instants[number - 1] if number else None

    def arrivals(self, grouping: GroupingNode, first: int, last: int) -> Iterator[tuple[object, EventTime]]:
        """Yields the key and the event time of the elements that a grouping receives in a range of instants."""
        for elements in self._received(grouping)[first:last]:
            for element in elements:
                if isinstance(element.value, KV):
                    yield element.value.key, element.event_time

    def keys_within(self, grouping: GroupingNode, span: Window) -> Iterable[object]:
        """Returns the keys of the elements that a grouping receives with an event time in a span."""
        arrivals = self.arrivals(grouping, 0, len(self.instants))
        return (key for key, point in arrivals if point in span)

    def first_event_time(self, grouping: GroupingNode, start: EventTime) -> EventTime | None:
        """Returns the least event time at or after a point, of the elements that a grouping receives."""
        return min((point for point in self._event_times(grouping) if point >= start), default=None)

    def last_event_time(self, grouping: GroupingNode, end: EventTime) -> EventTime | None:
        """Returns the greatest event time before a point, of the elements that a grouping receives."""
        return max((point for point in self._event_times(grouping) if point < end), default=None)

    def _event_times(self, grouping: GroupingNode) -> Iterator[EventTime]:
        return (point for _, point in self.arrivals(grouping, 0, len(self.instants)))

    def select(self, grouping: GroupingNode, selection: Selection) -> SelectedInstants:
        """Returns the instants with the selected elements of a grouping."""
        received = self._received(grouping)
        return _Selected(
            [
                number
                for number, instant in enumerate(self.instants)
                if instant.signals or any(map(selection.selects, received[number]))
            ],
            self.instants,
        )

    def _received(self, grouping: GroupingNode) -> Sequence[tuple[Element, ...]]:
        """Returns the elements that a grouping receives in each instant, all of its inputs together."""
        if id(grouping) not in self._cache:
            bad = BadRecords.of(dead_letters=self.dead_letters)
            operators = Operators(bad=bad).of(*grouping.inputs)
            self._cache[id(grouping)] = [
                tuple(element for operator in operators for element in operator(instant).elements)
                if any(source_instant.elements for source_instant in instant.instants.values())
                else ()
                for instant in self.instants
            ]
        return self._cache[id(grouping)]

    @cached_property
    def _cache(self) -> dict[int, list[tuple[Element, ...]]]:
        return {}


@frozen
class _Selected:
    busy: Sequence[int]
    instants: Sequence[PipelineInstant]

    def at(self, number: int) -> PipelineInstant:
        return self.instants[number]
