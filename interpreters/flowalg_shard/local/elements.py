"""What flows between the operators of the local engine."""

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
    """A value with its event time, window and weight; ``info`` is there once it has come out of a grouping."""

    value: object
    event_time: EventTime
    window: Window = GLOBAL_WINDOW
    weight: int = 1
    info: PaneInfo | None = None


@frozen
class Arrivals:
    """What an operator gives in one instant: its elements in order, and what their origins say of the clocks.

    A stage hears the reports, in band as in a cluster; a source says what its clocks read as a stage does that holds
    nothing back.
    """

    elements: tuple[Element, ...]
    reports: Mapping[int, StageReport]

    @classmethod
    def of_source(cls, elements: tuple[Element, ...], clocks: Clocks) -> Arrivals:
        """What a source brings."""
        return cls(elements, {0: StageReport(clocks)})


@frozen
class Now:
    """One instant of the whole pipeline: what each source brings, by its name."""

    processing_time: ProcessingTime
    arrivals: Mapping[str, Arrivals]


__all__ = ["Arrivals", "Element", "Now"]
