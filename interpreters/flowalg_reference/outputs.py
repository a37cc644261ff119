"""What flows between the nodes of the reference interpreter: elements and clocks, instant by instant."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element


@frozen
class NodeOutput:
    """The output of a node in one instant: its elements, and the clocks after them of each of its upstreams.

    The upstreams are the sources, groupings and side inputs that the elements come from, by the identity of the node. A
    union has those of all its inputs, so its nesting does not matter.
    """

    elements: tuple[Element, ...]
    upstreams: Mapping[int, Clocks]
