"""Watermarks: how much of event time is believed to have been seen (SEMANTICS section 9).

A policy is a value and a pure state machine. It is told of each instant by a ``ClockReport``, a summary that
partitions of the input can make apart and then merge, and says what the watermark is after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TypeAlias

from attrs import field, frozen

from flowalg.time import MAX_TIME, EventTime, Micros, ProcessingTime, duration_of
from flowalg.windows import clamp


@frozen
class ClockReport:
    """What an instant says about the clocks. ``merge`` is associative and commutative.

    ``latest_event`` and ``latest_processing`` are the greatest event and processing times of the elements,
    ``None`` where there were none. ``ended`` says that the source will send nothing more.
    """

    latest_event: EventTime | None = None
    latest_processing: ProcessingTime | None = None
    ended: bool = False

    @classmethod
    def of(cls, events: Iterable[EventTime], *, ended: bool = False) -> ClockReport:
        """The report of elements with these event times."""
        return cls(max(events, default=None), None, ended)

    def merge(self, other: ClockReport) -> ClockReport:
        """The report of the elements of both."""
        events = [one.latest_event for one in (self, other) if one.latest_event is not None]
        times = [one.latest_processing for one in (self, other) if one.latest_processing is not None]
        return ClockReport(
            max(events, default=None), max(times, default=None), ended=self.ended or other.ended
        )


@frozen
class BoundedDisorder:
    """The greatest event time seen, less a delay: no element is expected to be later than that behind others.

    Heuristic: an element that is later is late, and treated as ``allowed_lateness`` says. Laws: monotone; a
    finished input has the watermark ``MAX_TIME``.
    """

    delay: timedelta = field()

    def __attrs_post_init__(self) -> None:
        duration_of("BoundedDisorder.delay", self.delay, allow_zero=True)

    @property
    def delay_micros(self) -> Micros:
        """The delay in microseconds."""
        return duration_of("BoundedDisorder.delay", self.delay, allow_zero=True)

    def advance(self, watermark: EventTime, report: ClockReport) -> EventTime:
        """The watermark after an instant, given the one before it."""
        if report.ended:
            return MAX_TIME
        if report.latest_event is None:
            return watermark
        return max(watermark, clamp(report.latest_event - self.delay_micros))

    def __str__(self) -> str:
        return f"the greatest event time seen, less {self.delay}"


WatermarkPolicy: TypeAlias = BoundedDisorder
"""How a source's watermark is generated."""


__all__ = ["BoundedDisorder", "ClockReport", "WatermarkPolicy"]
