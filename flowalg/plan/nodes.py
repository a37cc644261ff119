"""The kinds of node of a plan. An engine is one exhaustive match on them.

They differ from the nodes of a pipeline where engines do: windows are in the groupings that use them, splits are
inlined, and what is best computed together is one node.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

from attrs import frozen

from flowalg.data.metadata import Metadata
from flowalg.elementwise.steps import Step
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import CoGroupByKey, CombinePerKey, Process, SourceNode, WithSide


@frozen(eq=False)
class _PlanNode:
    """The base of all nodes of a plan, which are compared by identity. ``inputs`` are the nodes that it reads."""

    inputs: tuple[PlanNode, ...]

    @property
    def input(self) -> PlanNode:
        """The only node that it reads."""
        (inner,) = self.inputs
        return inner


@frozen(eq=False)
class Read(_PlanNode):
    """The elements of a source."""

    source: SourceNode


@frozen(eq=False)
class Apply(_PlanNode):
    """The elements after a chain of element-wise steps, of which there is one at least."""

    steps: tuple[Step, ...]


@frozen(eq=False)
class PairWithMetadata(_PlanNode):
    """Each element with its event time, its window or its pane."""

    metadata: Metadata


@frozen(eq=False)
class Combine(_PlanNode):
    """The panes of a grouping of one collection."""

    transform: CombinePerKey


@frozen(eq=False)
class CoGroup(_PlanNode):
    """The panes of a grouping of several collections. If it is of a join, the steps after it emit the pairs."""

    transform: CoGroupByKey


@frozen(eq=False)
class JoinByKey(_PlanNode):
    """The pairs of a join one by one, or what it selects, each with its event time, in a batch."""

    transform: CoGroupByKey
    kind: JoinKind


@frozen(eq=False)
class ExplodeLists(_PlanNode):
    """As ``JoinByKey``, from the lists of a co-group: where windows merge, the values of both sides form them."""

    transform: CoGroupByKey
    kind: JoinKind


@frozen(eq=False)
class Union(_PlanNode):
    """The elements of several collections."""


@frozen(eq=False)
class FanOut(_PlanNode):
    """The union of several chains of steps over one collection, which may be computed in one pass over it."""

    chains: tuple[tuple[Step, ...], ...]

    @cached_property
    def branches(self) -> tuple[PlanNode, ...]:
        """The chains as nodes, for an engine that cannot compute them in one pass after all."""
        return tuple(Apply(self.inputs, chain) if chain else self.input for chain in self.chains)


@frozen(eq=False)
class ReadSide(_PlanNode):
    """The elements of the first input with what they read of the second, a side input, after the given steps."""

    transform: WithSide
    steps: tuple[Step, ...] = ()

    @property
    def input(self) -> PlanNode:
        """The node of the elements."""
        return self.inputs[0]

    @property
    def side(self) -> PlanNode:
        """The node of the side input."""
        return self.inputs[1]


@frozen(eq=False)
class Compute(_PlanNode):
    """The outputs of a computation. ``sources`` are those that its elements come from, which know its horizon."""

    transform: Process
    sources: tuple[Read, ...]


PlanNode: TypeAlias = (
    Read
    | Apply
    | PairWithMetadata
    | Combine
    | CoGroup
    | JoinByKey
    | ExplodeLists
    | Union
    | FanOut
    | ReadSide
    | Compute
)
"""A node of a plan."""

StageNode: TypeAlias = Combine | CoGroup | JoinByKey | ReadSide | Compute
"""The nodes that have state in a stream."""
