"""The syntax tree of a pipeline: six kinds of node, immutable, untyped (the typed handle is ``PCollection``).

Everything that the surface offers desugars to these, so that an interpreter is one exhaustive match.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias, assert_never

from attrs import field, fields, frozen

from flowalg.combiners.core import Combiner, Into
from flowalg.combiners.result_shapes import combined_shape
from flowalg.data.errors import (
    ArgumentError,
    ElementError,
    KeyedCollectionError,
    UnsupportedError,
    ValueRangeError,
)
from flowalg.data.shapes import ListOf, MapOf, RecordOf, Scalar, Shape, TupleOf, kv_of, optional
from flowalg.data.values import conform
from flowalg.elementwise.functions import Call, OnValue
from flowalg.elementwise.steps import Map, Step
from flowalg.lifting.analysis import StepAnalysis, analyse, is_keyed
from flowalg.pipeline.side_inputs import NO_DEFAULT, AsMap, Singleton, View, require_readable
from flowalg.pipeline.tagging import Separate
from flowalg.windows.strategy import Accumulation, WindowingStrategy


@frozen
class SourceNode:
    """Where elements enter: records of one class, each with an event time."""

    name: str
    shape: Shape
    event_time: Call


@frozen
class ElementWise:
    """A chain of element-wise steps (ParDo, Dataflow Model 2.1). Fusion is concatenation of the chains."""

    input: Node
    steps: tuple[Step, ...]
    analyses: tuple[StepAnalysis, ...] = field(eq=False, repr=False)

    @classmethod
    def then(cls, node: Node, step: Step) -> ElementWise:
        """The node followed by one more step."""
        if isinstance(node, ElementWise):
            steps = (*node.steps, step)
            return cls(node.input, steps, (*node.analyses, *analyse((step,), shape_after(node))))
        return cls(node, (step,), analyse((step,), shape_after(node)))


@frozen
class WindowInto:
    """The windowing strategy of the groupings that follow (AssignWindows, Dataflow Model 2.2.1)."""

    input: Node
    strategy: WindowingStrategy


@frozen
class CombinePerKey:
    """One value per key and window, again and again as the trigger says (GroupByKeyAndWindow and combine)."""

    input: Node
    combiner: Combiner[object, object, object]
    label: str = field(default="combine_per_key")

    def __attrs_post_init__(self) -> None:
        shape = shape_after(self.input)
        if shape is not None:
            require_keyed(shape, self.label)


def combined(node: Node, combiner: Combiner[object, object, object], transform: str) -> Node:
    """A grouping by a combiner. What it makes *of* its result is a step after the grouping, which Spark can lift."""
    label = f"{transform}({combiner.title})"
    if not isinstance(combiner, Into):
        return CombinePerKey(node, combiner, label)
    grouped = CombinePerKey(node, combiner.combiner, label)
    return ElementWise.then(grouped, Map(OnValue(combiner.function), f"{transform}(into=…)"))


@frozen
class Flatten:
    """Several collections as one: their union, as bags. All must be in the same windows (Dataflow Model, 2.1)."""

    inputs: tuple[Node, ...]

    def __attrs_post_init__(self) -> None:
        if not self.inputs:
            raise ArgumentError("Flatten.inputs", self.inputs, "one or more collections")
        first, *others = (strategy_at(node) for node in self.inputs)
        for number, other in enumerate(others, start=2):
            for one in fields(WindowingStrategy):
                expected, found = getattr(first.strategy, one.name), getattr(other.strategy, one.name)
                if found != expected:
                    what = one.name.replace("_", " ")
                    valid = f"that of collection 1, {expected!r}, so that all are in the same windows"
                    raise ArgumentError(f"the {what} of collection {number}", found, valid)
            if other.fresh != first.fresh:
                raise ArgumentError(
                    f"collection {number}",
                    outline(self.inputs[number - 1]),
                    "in the same windows as collection 1: put window(...) after the groupings of both",
                )


@frozen
class WithSide:
    """Each element beside what its window of another collection comes to, once that is complete (side input)."""

    input: Node
    side: Node
    view: View

    def __attrs_post_init__(self) -> None:
        require_readable(strategy_at(self.side).strategy.windows, self.view)


Node: TypeAlias = SourceNode | ElementWise | WindowInto | CombinePerKey | Flatten | WithSide

DEFAULT_STRATEGY: Final = WindowingStrategy()


def require_keyed(shape: Shape, transform: str) -> None:
    """Raises ``KeyedCollectionError`` unless elements of the shape are ``KV`` pairs."""
    if not is_keyed(shape):
        raise KeyedCollectionError(
            f"{transform} needs elements that are KV(key, value) pairs, and these are {shape}; "
            "call key_by(...) first"
        )


def shape_after(node: Node) -> Shape | None:
    """The shape of a node's elements; ``None`` where only running the user's functions would tell."""
    match node:
        case SourceNode(shape=shape):
            return shape
        case ElementWise(analyses=analyses):
            return analyses[-1].after
        case WindowInto(input=inner):
            return shape_after(inner)
        case CombinePerKey(input=Flatten(inputs=inputs), combiner=Separate()):
            return _shape_co_grouped(inputs)
        case CombinePerKey(input=inner, combiner=combiner):
            match shape_after(inner):
                case RecordOf(fields=(key, value)):
                    result = combined_shape(combiner, value.shape)
                    return None if result is None else kv_of(key.shape, result)
                case _:
                    return None
        case Flatten(inputs=inputs):
            first, *others = (shape_after(one) for one in inputs)
            return first if all(other == first for other in others) else None
        case WithSide(input=inner, side=side, view=view):
            element, read = shape_after(inner), shape_read(view, shape_after(side))
            return None if element is None or read is None else TupleOf((element, read))
    assert_never(node)


def _shape_co_grouped(inputs: tuple[Node, ...]) -> Shape | None:
    """The shape of a co-group: a key, and a list for each of the collections as they were before they were tagged."""
    pairs = [one.analyses[-1].before for one in inputs if isinstance(one, ElementWise)]
    known = [pair for pair in pairs if isinstance(pair, RecordOf) and is_keyed(pair)]
    if len(known) < len(inputs):
        return None
    lists = tuple(ListOf(pair.fields[1].shape) for pair in known)
    return kv_of(known[0].fields[0].shape, TupleOf(lists))


def shape_read(view: View, side: Shape | None) -> Shape | None:
    """The shape of what an element reads of a side; ``None`` where it cannot be known."""
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
    assert_never(view)


def _is_of(default: object, shape: Shape) -> bool:
    """Whether a default is a value of a shape as it stands."""
    if isinstance(shape, Scalar):
        return type(default) is shape.python
    try:
        return conform(default, shape, "default") == default
    except (ElementError, ValueRangeError):
        return False


def outline(node: Node) -> str:
    """A pipeline in one line, from its sources on."""
    match node:
        case SourceNode(name=name):
            return name
        case ElementWise(input=inner, steps=steps):
            return " > ".join([outline(inner), *(step.label for step in steps)])
        case WindowInto(input=inner, strategy=strategy):
            return f"{outline(inner)} > window({strategy.windows})"
        case CombinePerKey(input=inner, label=label):
            return f"{outline(inner)} > {label}"
        case Flatten(inputs=inputs):
            return f"({' + '.join(outline(one) for one in inputs)})"
        case WithSide(input=inner, side=side):
            return f"{outline(inner)} > with_side({outline(side)})"
    assert_never(node)


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The nodes that a node reads."""
    match node:
        case SourceNode():
            return ()
        case ElementWise(input=inner) | WindowInto(input=inner) | CombinePerKey(input=inner):
            return (inner,)
        case Flatten(inputs=inputs):
            return inputs
        case WithSide(input=inner, side=side):
            return (side, inner)
    assert_never(node)


def elements_from(node: Node) -> tuple[Node, ...]:
    """The nodes whose elements a node passes on: those that it reads, but for a side input."""
    return (node.input,) if isinstance(node, WithSide) else inputs_of(node)


def nodes_of(node: Node) -> Iterator[Node]:
    """The node and everything upstream of it, sources first."""
    for inner in inputs_of(node):
        yield from nodes_of(inner)
    yield node


def sources_of(node: Node) -> tuple[SourceNode, ...]:
    """The sources of a pipeline, each once."""
    return tuple(dict.fromkeys(one for one in nodes_of(node) if isinstance(one, SourceNode)))


def last_grouping(node: Node) -> CombinePerKey:
    """The grouping that makes a pipeline's panes; raises ``UnsupportedError`` when it groups nothing."""
    found = next(last_groupings(node), None)
    if found is None:
        raise UnsupportedError(
            "the pipeline groups nothing, so it has no panes; end it with combine_per_key(...)"
        )
    return found


def last_groupings(node: Node) -> Iterator[CombinePerKey]:
    """The groupings that make a pipeline's panes: several, where what several of them give is flattened."""
    if isinstance(node, CombinePerKey):
        yield node
        return
    for inner in elements_from(node):
        yield from last_groupings(inner)


def retracts(node: Node) -> bool:
    """Whether a node's elements can be retractions: whether a grouping upstream retracts."""
    if isinstance(node, CombinePerKey):
        mode = strategy_at(node.input).strategy.accumulation
        return mode is Accumulation.RETRACTING or retracts(node.input)
    return any(retracts(inner) for inner in elements_from(node))


@frozen
class EffectiveStrategy:
    """The windowing strategy in force at a node.

    ``fresh`` says that elements are still to be assigned windows; after a grouping they keep the window that
    they came out of, until the next ``window(...)`` (SEMANTICS section 3).
    """

    strategy: WindowingStrategy
    fresh: bool


def strategy_at(node: Node) -> EffectiveStrategy:
    """The windowing strategy that a grouping after ``node`` groups by."""
    match node:
        case SourceNode():
            return EffectiveStrategy(DEFAULT_STRATEGY, fresh=True)
        case ElementWise(input=inner) | WithSide(input=inner):
            return strategy_at(inner)
        case WindowInto(strategy=strategy):
            return EffectiveStrategy(strategy, fresh=True)
        case CombinePerKey(input=inner):
            return EffectiveStrategy(strategy_at(inner).strategy, fresh=False)
        case Flatten(inputs=inputs):
            return strategy_at(inputs[0])
    assert_never(node)


__all__ = [
    "DEFAULT_STRATEGY",
    "CombinePerKey",
    "EffectiveStrategy",
    "ElementWise",
    "Flatten",
    "Node",
    "SourceNode",
    "WindowInto",
    "WithSide",
    "combined",
    "elements_from",
    "inputs_of",
    "last_grouping",
    "last_groupings",
    "nodes_of",
    "outline",
    "require_keyed",
    "retracts",
    "shape_after",
    "shape_read",
    "sources_of",
    "strategy_at",
]
