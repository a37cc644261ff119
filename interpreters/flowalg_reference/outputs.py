"""What flows between the nodes of the reference interpreter: elements and clocks, instant by instant."""

from __future__ import annotations

from attrs import frozen

from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element


@frozen
class NodeOutput:
    """The output of a node in one instant: its elements, and its clocks after them."""

    elements: tuple[Element, ...]
    clocks: Clocks


__all__ = ["NodeOutput"]
