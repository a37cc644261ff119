"""What flows between the operators of the interpreter: elements and clocks, instant by instant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime
from flowalg.runs.panes import PaneInfo
from flowalg.windows.window import GLOBAL_WINDOW, Window


@frozen
class Element:
    """A value with its event time, window and weight (SEMANTICS section 2).

    ``weight`` is +1 for a value and -1 for a retraction. ``info`` is set after a grouping.
    """

    value: object
    event_time: EventTime
    window: Window = GLOBAL_WINDOW
    weight: int = 1
    info: PaneInfo | None = None


@frozen
class Clocks:
    """What both clocks read after the elements of an instant have been observed."""

    processing_time: ProcessingTime
    watermark: EventTime
    percentiles: Mapping[float, EventTime] = field(factory=dict)

    def percentile(self, q: float | None) -> EventTime:
        """The q-percentile watermark: never behind the watermark, and equal to it where the percentile is unknown."""
        known = self.watermark if q is None else self.percentiles.get(q, self.watermark)
        return max(known, self.watermark)

    def with_hold(self, hold: EventTime, before: Clocks) -> Clocks:
        """The output clocks of a node that holds elements: none is beyond ``hold``, none moves back from ``before``.

        Percentile watermarks may lead the watermark here too: each waits for the held elements, not for the watermark.
        """
        watermark = max(before.watermark, min(self.watermark, hold))
        percentiles = {
            q: max(before.percentiles.get(q, MIN_TIME), min(point, hold))
            for q, point in self.percentiles.items()
        }
        return Clocks(self.processing_time, watermark, percentiles)


BEGINNING: Final = Clocks(ProcessingTime(MIN_TIME), MIN_TIME)
"""What the clocks read before the first instant."""


@frozen
class NodeOutput:
    """The output of a node in one instant: its elements, and its clocks after them."""

    elements: tuple[Element, ...]
    clocks: Clocks


@frozen
class PipelineInstant:
    """One instant of the whole pipeline: the output of each source by its name, and the signals given."""

    processing_time: ProcessingTime
    sources: Mapping[str, NodeOutput]
    signals: frozenset[str] = frozenset()


__all__ = ["BEGINNING", "Clocks", "Element", "NodeOutput", "PipelineInstant"]
