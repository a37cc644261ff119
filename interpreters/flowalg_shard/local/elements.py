"""The output of an operator of the local engine: elements and clock reports, instant by instant."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element
from flowalg_shard.clocks.exchange import StageReport


@frozen
class NodeOutput:
    """The output of an operator in one instant: its elements in order, and the clock reports of its upstreams.

    Stages receive the reports in band, as in a cluster. A source reports its clocks like a stage without holds.
    """

    elements: tuple[Element, ...]
    reports: Mapping[int, StageReport]

    @classmethod
    def of_source(cls, elements: tuple[Element, ...], clocks: Clocks) -> NodeOutput:
        """Returns the output of a source."""
        return cls(elements, {0: StageReport(clocks)})


__all__ = ["NodeOutput"]
