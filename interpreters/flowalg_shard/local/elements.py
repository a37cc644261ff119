"""What flows between the operators of the local engine: elements and clock reports, instant by instant."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.panes import PaneInfo
from flowalg.windows.window import GLOBAL_WINDOW, Window
from flowalg_shard.clocks.clocks import Clocks
from flowalg_shard.clocks.exchange import StageReport


@frozen
class Element:
    """A value with its event time, window and weight; ``info`` is set after a grouping."""

    value: object
    event_time: EventTime
    window: Window = GLOBAL_WINDOW
    weight: int = 1
    info: PaneInfo | None = None


@frozen
class NodeOutput:
    """The output of an operator in one instant: its elements in order, and the clock reports of its upstreams.

    Stages receive the reports in band, as in a cluster. A source reports its clocks like a stage without holds.
    """

    elements: tuple[Element, ...]
    reports: Mapping[int, StageReport]

    @classmethod
    def of_source(cls, elements: tuple[Element, ...], clocks: Clocks) -> NodeOutput:
        """The output of a source."""
        return cls(elements, {0: StageReport(clocks)})


@frozen
class PipelineInstant:
    """One instant of the whole pipeline: the output of each source by its name."""

    processing_time: ProcessingTime
    sources: Mapping[str, NodeOutput]


__all__ = ["Element", "NodeOutput", "PipelineInstant"]
