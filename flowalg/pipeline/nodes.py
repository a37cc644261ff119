"""The kinds of node of a pipeline: immutable, untyped (``PCollection`` is the typed handle on them).

All transforms of the public API reduce to these nodes, so an interpreter is one exhaustive match. Attributes that
follow from a node (its shape, its windowing, whether it retracts) are derived lazily and cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, unique
from functools import cached_property
from itertools import takewhile
from typing import Final, TypeAlias, assert_never, cast

from attrs import evolve, field, fields, frozen

from flowalg.combiners.core import AnyCombiner, Into
from flowalg.combiners.result_shapes import combined_shape
from flowalg.computations.computation import AnyComputation, Late
from flowalg.computations.library import output_shape
from flowalg.data.errors import (
    ArgumentError,
    ElementError,
    KeyedCollectionError,
    UnsupportedError,
    ValueRangeError,
    require_name,
)
from flowalg.data.metadata import Metadata
from flowalg.data.shapes import (
    INTEGER,
    TIMESTAMP,
    ListOf,
    MapOf,
    RecordOf,
    Scalar,
    Shape,
    TupleOf,
    is_hashable,
    kv_of,
    optional,
)
from flowalg.data.values import conform
from flowalg.elementwise.functions import Call, OnValue
from flowalg.elementwise.steps import WRITTEN, Map, Scope, Step
from flowalg.lifting.analysis import StepAnalysis, analyse, is_keyed
from flowalg.lifting.operations.sums import common_sum
from flowalg.pipeline.co_group import Join, Separate
from flowalg.pipeline.graph import Fold, equal
from flowalg.pipeline.joins import JoinKind, require_distinct_nothing
from flowalg.pipeline.side_inputs import NO_DEFAULT, AsMap, LatestComplete, Singleton, View, require_readable
from flowalg.windows.strategy import Accumulation, TimestampCombiner, WindowingStrategy, emits_one_pane
from flowalg.windows.window_functions import GlobalWindows, as_merging


@frozen
class Windowing:
    """The windowing strategy in force at a node.

    ``fresh`` is true where elements have yet to be assigned windows. After a grouping it is false: elements keep the
    window that they were grouped in, until the next ``window(...)`` (SEMANTICS section 3).
    """

    strategy: WindowingStrategy
    fresh: bool

    @property
    def merges(self) -> bool:
        """Whether a grouping assigns windows that merge with others of their key."""
        return self.fresh and as_merging(self.strategy.windows) is not None


DEFAULT_WINDOWING: Final = Windowing(WindowingStrategy(), fresh=True)


@frozen(eq=False, repr=False)
class _Node:
    """The base of all nodes. Two nodes are equal if their pipelines have equal values, regardless of sharing."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that this one reads."""
        return ()

    @cached_property
    def windowing(self) -> Windowing:
        """The windowing that a grouping of these elements groups by."""
        return self.inputs[0].windowing if self.inputs else DEFAULT_WINDOWING

    @cached_property
    def retracts(self) -> bool:
        """Whether some elements can be retractions: whether the last grouping before them is RETRACTING."""
        return any(inner.retracts for inner in self.inputs)

    @cached_property
    def may_retract(self) -> bool:
        """Whether a grouping that reads the elements may receive retractions, once accumulation modes are resolved."""
        return any(inner.may_retract for inner in self.inputs)

    @cached_property
    def is_grouped(self) -> bool:
        """Whether a grouping has put the elements into their windows and panes, since the last ``window(...)``."""
        return bool(self.inputs) and all(inner.is_grouped for inner in self.inputs)

    @cached_property
    def shows_panes(self) -> bool:
        """Whether the elements depend on their panes."""
        return any(inner.shows_panes for inner in self.inputs)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """Returns the same node over other inputs; steps are fused with those that they then follow."""
        match node := cast("Node", self):
            case SourceNode() | Hole():
                return node
            case ElementWise():
                (inner,) = inputs
                return node.over(inner)
            case CoGroupByKey() | Flatten():
                return evolve(node, collections=tuple(inputs))
            case WithSide():
                inner, side = inputs
                return evolve(node, input=inner, side=side)
            case WindowInto() | WithMetadata() | CombinePerKey() | Process():
                (inner,) = inputs
                return evolve(node, input=inner)

    @cached_property
    def _own(self) -> tuple[object, ...]:
        """The attributes of the node other than its inputs."""
        names = [field.name for field in fields(type(self)) if field.eq]
        return tuple(getattr(self, name) for name in names if name not in ("input", "collections", "side"))

    def _alike(self, other: _Node) -> bool:
        return type(self) is type(other) and self._own == other._own

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), self._own, self.inputs))

    def __eq__(self, other: object) -> bool:
        return equal(self, other, _Node._alike) if isinstance(other, _Node) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return outline(cast("Node", self))


@frozen(eq=False, repr=False)
class SourceNode(_Node):
    """The entry of elements: records of one class, each with an event time.

    ``event_time`` is ``None`` if that is the time of arrival.
    """

    name: str = field(validator=lambda _, __, name: require_name("Source.name", name))
    shape: Shape
    event_time: Call | None


@frozen(eq=False, repr=False)
class Hole(_Node):
    """The placeholder for an input of a transform: elements of any shape if ``shape`` is ``None``.

    The inputs of a transform are numbered, from 1, so that two of the same shape differ.
    """

    shape: Shape | None
    number: int = 1
    _context: Node | None = field(default=None, eq=False, repr=False, alias="context")

    @cached_property
    def windowing(self) -> Windowing:
        """The windowing of the input collection if it is known, else that of a source."""
        return DEFAULT_WINDOWING if self._context is None else self._context.windowing

    @cached_property
    def retracts(self) -> bool:
        """Whether the input collection retracts, if it is known."""
        return self._context is not None and self._context.retracts

    @cached_property
    def may_retract(self) -> bool:
        """Whether the input collection may retract, if it is known."""
        return self._context is not None and self._context.may_retract

    @cached_property
    def is_grouped(self) -> bool:
        """Whether the input collection is grouped. If it is unknown, this is checked when the hole is filled."""
        return self._context is None or self._context.is_grouped

    @cached_property
    def shows_panes(self) -> bool:
        """Whether the elements of the input collection depend on their panes, if it is known."""
        return self._context is not None and self._context.shows_panes

    def refused(self) -> UnsupportedError:
        """Returns the error for running the body of a transform without input."""
        return UnsupportedError(
            "the pipeline is the body of a transform, which has no input yet; apply the transform to a collection"
        )


class _Analyses(dict[int, StepAnalysis]):
    """The last analysis of each step, by its identity, which copies of a chain share. A pickle has none."""

    def of(self, step: Step, before: Shape | None) -> StepAnalysis:
        """Returns the analysis of a step of elements of a shape."""
        last = self.get(id(step))
        if last is None or last.step is not step or last.before != before:
            (last,) = analyse((step,), before)
            self[id(step)] = last
        return last

    def __reduce__(self) -> tuple[type[_Analyses], tuple[()]]:
        return _Analyses, ()


@frozen(eq=False, repr=False)
class ElementWise(_Node):
    """A chain of element-wise steps (ParDo, Dataflow Model 2.1). Fusion is concatenation of the chains."""

    input: Node
    steps: tuple[Step, ...]
    _shorter: ElementWise | None = field(default=None, eq=False, alias="shorter", repr=False)
    _known: _Analyses = field(factory=_Analyses, eq=False, alias="known", repr=False)

    @classmethod
    def after(cls, node: Node, step: Step, *more: Step) -> ElementWise:
        """Returns the node followed by steps."""
        shorter = node if isinstance(node, ElementWise) else None
        chain = cls(node, (step,)) if shorter is None else cls(shorter.input, (*shorter.steps, step), shorter)
        return cls.after(chain, *more) if more else chain

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose elements the steps transform."""
        return (self.input,)

    def over(self, node: Node) -> ElementWise:
        """Returns the chain over another input, as ``after`` does; for the same shape no step is analysed again."""
        if isinstance(node, ElementWise):
            return ElementWise(node.input, (*node.steps, *self.steps), node, self._known)
        return ElementWise(node, self.steps, known=self._known)

    @property
    def own_steps(self) -> tuple[Step, ...]:
        """The steps but for the first one after a join, which emits its pairs."""
        return self.steps if join_of(self.input) is None else self.steps[1:]

    @cached_property
    def analyses(self) -> tuple[StepAnalysis, ...]:
        """The shapes before and after each step, and the expression that its function was lifted to."""
        analyses: list[StepAnalysis] = []
        shorter = self._shorter
        if shorter is not None and shorter.input is self.input:
            same = takewhile(
                lambda pair: pair[0].step is pair[1], zip(shorter.analyses, self.steps, strict=False)
            )
            analyses.extend(analysis for analysis, _ in same)
            self._known.update((id(analysis.step), analysis) for analysis in analyses)
        for step in self.steps[len(analyses) :]:
            before = analyses[-1].after if analyses else self.input.shape
            analyses.append(self._known.of(step, before))
        return tuple(analyses)

    @cached_property
    def shape(self) -> Shape | None:
        """The shape after the last step."""
        return self.analyses[-1].after


@frozen(eq=False, repr=False)
class WindowInto(_Node):
    """The windowing strategy of the groupings that follow (AssignWindows, Dataflow Model 2.2.1)."""

    input: Node
    strategy: WindowingStrategy
    scope: Scope = field(default=(), eq=False, metadata=WRITTEN)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose elements are assigned to windows."""
        return (self.input,)

    @cached_property
    def shape(self) -> Shape | None:
        """The shape of the input, which windowing does not change."""
        return self.input.shape

    @cached_property
    def windowing(self) -> Windowing:
        """The strategy, with windows yet to be assigned."""
        return Windowing(self.strategy, fresh=True)

    @cached_property
    def is_grouped(self) -> bool:
        """The elements are in no window of the strategy yet."""
        return False


@frozen(eq=False, repr=False)
class WithMetadata(_Node):
    """Pairs each element with its event time, its window or its pane."""

    input: Node
    metadata: Metadata
    scope: Scope = field(default=(), eq=False, metadata=WRITTEN)

    def __attrs_post_init__(self) -> None:
        method = self.metadata.value
        if self.metadata is not Metadata.EVENT_TIME and not self.input.is_grouped:
            valid = "grouped since the last window(...): a grouping puts elements into windows and panes"
            raise ArgumentError(f"the collection of {method}()", outline(self.input), valid)
        if self.metadata is Metadata.PANE and self.input.retracts:
            raise _changing_panes(Accumulation.RETRACTING)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose elements are paired."""
        return (self.input,)

    @property
    def label(self) -> str:
        """The name of the transform in messages."""
        return named(self.scope, f"{self.metadata.value}()")

    @cached_property
    def shape(self) -> Shape | None:
        """The element and its metadata."""
        return None if self.input.shape is None else TupleOf((self.input.shape, self.metadata.shape))

    @cached_property
    def shows_panes(self) -> bool:
        """Whether the elements depend on their panes."""
        return self.metadata is Metadata.PANE or self.input.shows_panes


def _changing_panes(mode: Accumulation | None) -> ArgumentError:
    """Returns the error for a retraction whose pane would differ from that of the retracted value."""
    valid = (
        "ACCUMULATING or DISCARDING: a retraction is in another pane than the value that it retracts, so that it would "
        "not retract the same pair"
    )
    return ArgumentError("the accumulation before with_pane()", mode, valid)


def _require_stable_panes(inputs: Sequence[Node]) -> None:
    """Raises ``ArgumentError`` if elements that depend on their panes may be retracted when they are grouped."""
    if any(inner.shows_panes and inner.may_retract for inner in inputs):
        raise _changing_panes(None)


@frozen(eq=False, repr=False)
class _Grouping(_Node):
    """The base of groupings, which group the elements of each key and window and emit panes.

    ``resolved`` is the accumulation mode of a grouping for which the pipeline leaves it unset; see
    ``flowalg.pipeline.accumulation``.
    """

    resolved: Accumulation | None = field(default=None, kw_only=True)

    @cached_property
    def windowed_by(self) -> Windowing:
        """The windowing of the elements that are grouped, with the resolved accumulation mode."""
        before = self.inputs[0].windowing
        strategy = self._resolve(before.strategy)
        return before if strategy is before.strategy else evolve(before, strategy=strategy)

    def _resolve(self, strategy: WindowingStrategy) -> WindowingStrategy:
        return strategy if self.resolved is None else evolve(strategy, accumulation=self.resolved)

    @cached_property
    def windowing(self) -> Windowing:
        """The strategy of the pipeline; panes keep the window that they were grouped in."""
        return Windowing(self.inputs[0].windowing.strategy, fresh=False)

    @property
    def receives_retractions(self) -> bool:
        """Whether some of the elements that are grouped can be retractions."""
        return any(inner.retracts for inner in self.inputs)

    @cached_property
    def retracts(self) -> bool:
        """Whether some panes can be retractions: an unset mode is RETRACTING where the input can be retracted."""
        strategy = self.windowed_by.strategy
        if strategy.accumulation is not None or emits_one_pane(strategy):
            return strategy.mode is Accumulation.RETRACTING
        return any(inner.may_retract for inner in self.inputs)

    @cached_property
    def is_grouped(self) -> bool:
        """The elements are in the windows of this grouping."""
        return True

    @cached_property
    def shows_panes(self) -> bool:
        """The values do not depend on the panes of this grouping."""
        return False

    @cached_property
    def may_retract(self) -> bool:
        """Whether panes can be retractions if another grouping reads them: an unset mode is then RETRACTING."""
        strategy = self.windowed_by.strategy
        return self.retracts or (strategy.accumulation is None and not emits_one_pane(strategy))


@unique
class GroupingKind(Enum):
    """The method of ``PCollection`` that made a grouping with one combiner."""

    COMBINE_PER_KEY = "combine_per_key"
    COMBINE_GLOBALLY = "combine_globally"
    GROUP_BY_KEY = "group_by_key"
    DISTINCT = "distinct"


@frozen(eq=False, repr=False)
class CombinePerKey(_Grouping):
    """One value per key and window, refined as the trigger says (GroupByKeyAndWindow and combine, DM 2.2)."""

    input: Node
    combiner: AnyCombiner
    kind: GroupingKind = GroupingKind.COMBINE_PER_KEY
    scope: Scope = field(default=(), eq=False, metadata=WRITTEN)

    def __attrs_post_init__(self) -> None:
        require_groupable(self.input.shape, self.label)
        _require_stable_panes(self.inputs)
        _ = self.shape  # raises if the combiner does not accept the values

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose elements are grouped."""
        return (self.input,)

    @cached_property
    def label(self) -> str:
        """The name of the transform in messages and metrics."""
        if self.kind in (GroupingKind.GROUP_BY_KEY, GroupingKind.DISTINCT):
            return named(self.scope, self.kind.value)
        return named(self.scope, f"{self.kind.value}({self.combiner.title})")

    @cached_property
    def shape(self) -> Shape | None:
        """The key, and the combiner's result."""
        match self.input.shape:
            case RecordOf(fields=(key, value)):
                result = combined_shape(self.combiner, value.shape)
                return None if result is None else kv_of(key.shape, result)
            case _:
                return None


@frozen(eq=False, repr=False)
class CoGroupByKey(_Grouping):
    """For each key and window, a list of the values of each of several keyed collections (CoGroupByKey).

    For a ``join`` of two collections it is one list of their pairs; under ``DISCARDING``, of those not yet emitted.
    ``timed`` says that each pair has a third item, its own event time (``flowalg.pipeline.pair_times``).

    That of a join which selects has left values.

    A difference keeps its values ``apart``, as a co-group does. So does a full join whose key may have a ``None`` in
    it: only the step that emits its pairs knows the key (``flowalg.pipeline.joins.PairSides``).
    """

    collections: tuple[Node, ...]
    join: JoinKind | None = None
    timed: bool = field(default=False, kw_only=True)
    apart: bool = field(default=False, kw_only=True, metadata=WRITTEN)
    scope: Scope = field(default=(), eq=False, metadata=WRITTEN)

    def __attrs_post_init__(self) -> None:
        most = 4 if self.join is None else 2
        if not 2 <= len(self.inputs) <= most:
            valid = "two to four" if self.join is None else "two, for a join"
            raise ArgumentError("the number of collections", len(self.inputs), valid)
        _require_same_windows(self.inputs)
        _require_stable_panes(self.inputs)
        self._require_final_pairs()
        self._require_distinct_nothing()

    def _require_distinct_nothing(self) -> None:
        """Raises ``ArgumentError`` if an outer join could not tell no match from a match with ``None``."""
        shapes = [inner.shape for inner in self.inputs if isinstance(inner.shape, RecordOf)]
        if self.join is not None and len(shapes) == 2 and all(map(is_keyed, shapes)):
            left, right = (shape.fields[1].shape for shape in shapes)
            require_distinct_nothing(self.join, left, right)

    @cached_property
    def pair_times(self) -> TimestampCombiner | None:
        """Which of its two values gives a pair of a join its event time; ``None`` if the window does, with its end."""
        strategy = self.inputs[0].windowing.strategy
        if self.join is None or strategy.timestamp_combiner is not TimestampCombiner.END_OF_WINDOW:
            return None if self.join is None else strategy.timestamp_combiner
        return TimestampCombiner.LATEST if isinstance(strategy.windows, GlobalWindows) else None

    def _resolve(self, strategy: WindowingStrategy) -> WindowingStrategy:
        """As that of any grouping; a pane of pairs with times of their own has the earliest that one can have."""
        chosen = strategy if self.resolved is None else evolve(strategy, accumulation=self.resolved)
        return evolve(chosen, timestamp_combiner=TimestampCombiner.EARLIEST) if self.timed else chosen

    def _require_final_pairs(self) -> None:
        """Raises ``ArgumentError`` for a join under ``DISCARDING`` if emitted pairs can become wrong."""
        strategy = self.windowed_by.strategy
        if self.join is None or strategy.accumulation is not Accumulation.DISCARDING:
            return
        if any(inner.may_retract for inner in self.inputs):
            why = "the values that it joins can be retracted, and DISCARDING panes are never corrected"
        elif self.join.keeps_left and not emits_one_pane(strategy):
            why = "a value without a match can be matched later, and DISCARDING panes are never corrected"
        else:
            return
        valid = f"RETRACTING, or unset: {why}"
        raise ArgumentError(f"the accumulation of {self.label}", strategy.accumulation, valid)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose elements are grouped together."""
        return self.collections

    @cached_property
    def label(self) -> str:
        """The name of the transform in messages and metrics."""
        of_all = f"co_group_by_key of {len(self.inputs)}"
        return named(self.scope, of_all if self.join is None else self.join.value)

    @cached_property
    def combiner(self) -> AnyCombiner:
        """The combiner of values that are tagged with the number of their collection."""
        if self.join is None or self.apart:
            return cast("AnyCombiner", Separate(len(self.inputs), self.timed))
        return cast("AnyCombiner", Join(self.join, self.pair_times if self.timed else None))

    @cached_property
    def shape(self) -> Shape | None:
        """The key, and a tuple of lists; for a join, a list of pairs."""
        pairs = [
            inner.shape
            for inner in self.inputs
            if isinstance(inner.shape, RecordOf) and is_keyed(inner.shape)
        ]
        if len(pairs) < len(self.inputs):
            return None
        key, values = pairs[0].fields[0].shape, [pair.fields[1].shape for pair in pairs]
        if self.join is not None and not self.apart:
            left, right = values
            if self.join.selects:
                return kv_of(key, ListOf(TupleOf((left, TIMESTAMP)) if self.timed else left))
            pair = self.join.shape(left, right)
            return kv_of(key, ListOf(TupleOf((*pair.items, TIMESTAMP)) if self.timed else pair))
        if self.timed:
            values = [TupleOf((value, INTEGER)) for value in values]
        return kv_of(key, TupleOf(tuple(map(ListOf, values))))


@frozen(eq=False, repr=False)
class Flatten(_Node):
    """Several collections as one: their union, as bags. All must be in the same windows (Dataflow Model, 2.1)."""

    collections: tuple[Node, ...]
    scope: Scope = field(default=(), eq=False, metadata=WRITTEN)

    def __attrs_post_init__(self) -> None:
        if not self.inputs:
            raise ArgumentError("Flatten.collections", self.collections, "one or more collections")
        _require_same_windows(self.collections)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose elements are united."""
        return self.collections

    @cached_property
    def shape(self) -> Shape | None:
        """The shape of all inputs, or the sum of their shapes; ``None`` if there is none."""
        shapes = [inner.shape for inner in self.inputs if inner.shape is not None]
        return common_sum(*shapes) if len(shapes) == len(self.inputs) else None


@frozen(eq=False, repr=False)
class WithSide(_Node):
    """Pairs each element with the result of its window of another collection, when it is complete (side input)."""

    input: Node
    side: Node
    view: View
    scope: Scope = field(default=(), eq=False, metadata=WRITTEN)

    def __attrs_post_init__(self) -> None:
        require_readable(self.side.windowing.strategy.windows, self.view)
        _require_stable_panes((self.side,))

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node of the elements, and that of the side input."""
        return (self.input, self.side)

    @property
    def label(self) -> str:
        """The name of the transform in messages and metrics."""
        return named(self.scope, "with_side")

    @cached_property
    def shape(self) -> Shape | None:
        """The element and its side input."""
        element, read = self.input.shape, shape_read(self.view, self.side.shape)
        return None if element is None or read is None else TupleOf((element, read))

    @cached_property
    def retracts(self) -> bool:
        """Whether the elements can be retractions: a side input is only read when it is complete."""
        return self.input.retracts

    @cached_property
    def may_retract(self) -> bool:
        """Whether the elements may be retractions."""
        return self.input.may_retract

    @cached_property
    def is_grouped(self) -> bool:
        """Whether the elements are grouped."""
        return self.input.is_grouped

    @cached_property
    def shows_panes(self) -> bool:
        """Whether the elements depend on their panes."""
        return self.input.shows_panes


@frozen(eq=False, repr=False)
class Process(_Node):
    """The outputs of a computation over the elements of each key (MillWheel, section 4; SEMANTICS section 17).

    A computation observes elements whatever their windows. Its outputs are new elements: they are in no window, and
    are not retracted. With ``in_order`` it observes them in order of event time, as the watermark passes them.
    """

    input: Node
    computation: AnyComputation
    in_order: bool = False
    late: Late = Late.OBSERVE
    scope: Scope = field(default=(), eq=False, metadata=WRITTEN)

    def __attrs_post_init__(self) -> None:
        require_groupable(self.input.shape, self.label)
        _require_stable_panes(self.inputs)
        if self.in_order and self.late is not Late.DROP:
            valid = "Late.DROP, or unset, for a computation in order: its order cannot wait for late elements"
            raise ArgumentError(f"late of {self.label}", self.late, valid)
        if self.input.may_retract and not self.in_order and self.computation.on_retraction is None:
            valid = (
                "a computation with on_retraction, or in_order=True, since its input can be retracted (an unset "
                "accumulation of the grouping before it means RETRACTING)"
            )
            raise ArgumentError(f"the computation of {self.label}", self.computation, valid)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node whose elements the computation observes."""
        return (self.input,)

    @property
    def label(self) -> str:
        """The name of the transform in messages and metrics."""
        return named(self.scope, f"process({self.computation.title})")

    @cached_property
    def shape(self) -> Shape | None:
        """The key, and an output of the computation."""
        match self.input.shape:
            case RecordOf(fields=(key, value)):
                result = output_shape(self.computation, value.shape)
                return None if result is None else kv_of(key.shape, result)
            case _:
                return None

    @cached_property
    def windowing(self) -> Windowing:
        """The strategy in force. The outputs have yet to be assigned windows."""
        return Windowing(self.input.windowing.strategy, fresh=True)

    @cached_property
    def retracts(self) -> bool:
        """The outputs are not retracted."""
        return False

    @cached_property
    def may_retract(self) -> bool:
        """The outputs are not retracted."""
        return False

    @cached_property
    def is_grouped(self) -> bool:
        """The outputs are in no window."""
        return False

    @cached_property
    def shows_panes(self) -> bool:
        """The outputs are not retracted, so it does not matter whether they depend on panes."""
        return False


def combine(node: Node, combiner: AnyCombiner, kind: GroupingKind) -> Node:
    """Returns a grouping by a combiner. The function of ``into=`` becomes a step after it, which engines can lift."""
    if not isinstance(combiner, Into):
        return CombinePerKey(node, combiner, kind)
    grouped = CombinePerKey(node, combiner.combiner, kind)
    return ElementWise.after(grouped, Map(OnValue(combiner.function), f"{kind.value}(into=…)"))


GroupingNode: TypeAlias = CombinePerKey | CoGroupByKey
Node: TypeAlias = (
    SourceNode
    | Hole
    | ElementWise
    | WithMetadata
    | WindowInto
    | CombinePerKey
    | CoGroupByKey
    | Flatten
    | WithSide
    | Process
)


def join_of(node: Node) -> JoinKind | None:
    """Returns the kind of a join; ``None`` for any other node."""
    return node.join if isinstance(node, CoGroupByKey) else None


def named(scope: Scope, name: str) -> str:
    """Returns a name inside the transforms that it belongs to: ``hourly totals/combine_per_key(Sum)``."""
    return "/".join((*scope, name))


def require_keyed(shape: Shape | None, transform: str) -> None:
    """Raises ``KeyedCollectionError`` unless elements of the shape, where it is known, are ``KV`` pairs."""
    if shape is not None and not is_keyed(shape):
        raise KeyedCollectionError(
            f"{transform} needs elements that are KV(key, value) pairs, and these are {shape}; "
            "call key_by(...) first"
        )


def require_groupable(shape: Shape | None, transform: str) -> None:
    """Raises ``KeyedCollectionError`` unless elements of the shape, where it is known, are pairs with hashable keys."""
    require_keyed(shape, transform)
    if isinstance(shape, RecordOf) and not is_hashable(shape.fields[0].shape):
        raise KeyedCollectionError(
            f"{transform} needs keys that are hashable, and these are {shape.fields[0].shape}; use tuple or frozenset "
            "instead of list and set"
        )


def _require_same_windows(nodes: Sequence[Node]) -> None:
    """Raises ``ArgumentError`` unless all collections are in the same windows in the same way."""
    first, *others = (node.windowing for node in nodes)
    for number, other in enumerate(others, start=2):
        for option in fields(WindowingStrategy):
            expected, actual = getattr(first.strategy, option.name), getattr(other.strategy, option.name)
            if actual != expected:
                what = option.name.replace("_", " ")
                valid = f"the same as in collection 1, {expected!r}, so that all are in the same windows"
                raise ArgumentError(f"the {what} of collection {number}", actual, valid)
        if other.fresh != first.fresh:
            raise ArgumentError(
                f"collection {number}",
                outline(nodes[number - 1]),
                "in the same windows as collection 1: put window(...) after the groupings of both",
            )


def shape_read(view: View, side: Shape | None) -> Shape | None:
    """Returns the shape of what an element reads of a side input; ``None`` where it cannot be known."""
    match view:
        case Singleton(default=default):
            if default is NO_DEFAULT or side is None:
                return side
            if default is None:
                return optional(side)
            return side if _is_of(default, side) else None
        case AsMap():
            match side:
                case RecordOf(fields=(key, value)) if is_keyed(side):
                    return MapOf(key.shape, value.shape)
                case _:
                    return None
        case LatestComplete(view=inner):
            return shape_read(inner, side)
    assert_never(view)


def _is_of(default: object, shape: Shape) -> bool:
    """Returns whether a default is a value of a shape as it is."""
    if isinstance(shape, Scalar):
        return type(default) is shape.python
    try:
        return conform(default, shape, "default") == default
    except (ElementError, ValueRangeError):
        return False


def outline(root: Node) -> str:
    """Returns a pipeline in one line, from its sources on; shared parts are written once, and then ``…``."""

    def text(node: Node, texts: Fold[Node, str]) -> str:
        inputs = ["…" if inner in texts and inner.inputs else texts(inner) for inner in node.inputs]
        match node:
            case SourceNode(name=name):
                return name
            case Hole():
                return "(…)"
            case ElementWise(steps=steps):
                return " > ".join((*inputs, *(step.label for step in steps)))
            case WindowInto(strategy=strategy):
                return f"{inputs[0]} > window({strategy.windows})"
            case CoGroupByKey(label=label):
                return f"({' + '.join(inputs)}) > {label}"
            case Flatten():
                return f"({' + '.join(inputs)})"
            case WithSide():
                return f"{inputs[0]} > with_side({inputs[1]})"
            case WithMetadata(label=label) | CombinePerKey(label=label) | Process(label=label):
                return f"{inputs[0]} > {label}"
        assert_never(node)

    return Fold(text)(root)
