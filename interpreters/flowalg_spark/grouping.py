"""The columns that a grouping reads: the key's, and one for each value that a combiner is given."""

from __future__ import annotations

from attrs import evolve, frozen
from flowalg_shard.stage import Stage, aggregate_columns, scalar_combiners
from flowalg_shard.support import require_combiner
from pyspark.sql import Column

from flowalg.combiner_shapes import combined_shape
from flowalg.combiners import Combiner, Count, Over
from flowalg.errors import UnsupportedError
from flowalg.functions import Call, OnValue, apply
from flowalg.kv import KV
from flowalg.lifting.analysis import StepAnalysis, analyse_function
from flowalg.lifting.expressions import Expr, Opaque, Param, opaque_part, within
from flowalg.nodes import CombinePerKey, strategy_at
from flowalg.shapes import RecordOf, Shape, TupleOf, contains_float, kv_of
from flowalg.steps import Map
from flowalg_spark.element_wise import in_python
from flowalg_spark.flow import Flow, LiftingNote
from flowalg_spark.layout import Branch, Columns, Leaf, layout_of, leaves, named


@frozen
class GroupingColumns:
    """A flow made ready to be grouped: ``flow.frame`` has the stage's key and argument columns, and its meta."""

    flow: Flow
    stage: Stage
    key: Shape
    result: Shape
    fresh: bool

    @property
    def pair(self) -> RecordOf:
        """The shape of what the grouping gives."""
        return kv_of(self.key, self.result)

    @property
    def result_columns(self) -> tuple[str, ...]:
        """The columns of an aggregated row, in the order of the layout of ``pair``."""
        return (*self.stage.keys, *(column.result for column in self.stage.aggregates))


@frozen
class Arguments:
    """What each combiner reads, computed in Python for one value."""

    calls: tuple[Call | None, ...]
    label: str

    def __call__(self, value: object) -> tuple[object, ...]:
        """The arguments at a value."""
        return tuple(value if call is None else apply(call, value, self.label) for call in self.calls)


def grouping_columns(flow: Flow, node: CombinePerKey) -> GroupingColumns:
    """The columns that ``node`` reads from a flow, and the stage that they are for.

    Raises ``UnsupportedError`` for keys or combiners that Spark cannot take.
    """
    require_combiner(node.combiner, node.label)
    match flow.shape:
        case RecordOf(cls=cls, fields=(key, value)) if cls is KV:
            pass
        case other:
            raise UnsupportedError(f"{node.label} groups {other}, which is no KV")
    if contains_float(key.shape):
        raise UnsupportedError(f"{node.label} has keys of {key.shape}; floats cannot be compared exactly")
    result = combined_shape(node.combiner, value.shape)
    if result is None:
        raise UnsupportedError(f"{node.label}: Spark cannot know the type of the combiner's result")
    flow, arguments = _arguments(flow, node, value.shape)
    shapes = tuple(None if one is None else one.shape for one in arguments)
    effective = strategy_at(node.input)
    keys = tuple(leaf.at for leaf in leaves(layout_of(kv_of(key.shape, result)))[: _width(key.shape)])
    stage = Stage(node.label, keys, aggregate_columns(node.combiner, shapes), effective.strategy)
    element = flow.element
    assert isinstance(element, Branch)
    columns: list[Column] = [
        leaf.at.alias(name) for leaf, name in zip(leaves(element.parts[0]), keys, strict=True)
    ]
    for column, argument in zip(stage.aggregates, arguments, strict=True):
        if column.argument is not None and argument is not None:
            columns.append(argument.at.alias(column.argument))
    frame = flow.frame.select(*columns, *map(named, flow.meta))
    return GroupingColumns(evolve(flow, frame=frame), stage, key.shape, result, effective.fresh)


def _width(shape: Shape) -> int:
    return len(leaves(layout_of(shape)))


def _arguments(flow: Flow, node: CombinePerKey, value: Shape) -> tuple[Flow, tuple[Leaf[Column] | None, ...]]:
    """The column that each combiner reads; ``None`` for ``Count``, which reads none."""
    parts = scalar_combiners(node.combiner)
    expressions = [_argument(part, value) for part in parts]
    overs = [one for one in parts if isinstance(one, Over)]
    opaque = [expr for expr in expressions if expr is not None and opaque_part(expr) is not None]
    if opaque:
        flow = _computed_in_python(flow, node, expressions)
    else:
        flow = flow.noted(*(LiftingNote(over.label, None, None) for over in overs))
    element = flow.element
    assert isinstance(element, Branch)
    values = element.parts[1]
    found: list[Leaf[Column] | None] = []
    for index, (part, expression) in enumerate(zip(parts, expressions, strict=True)):
        if expression is None or _reads_nothing(part):
            found.append(None)
        elif opaque:
            assert isinstance(values, Branch)
            item = values.parts[index]
            assert isinstance(item, Leaf)
            found.append(item)
        else:
            found.append(_leaf(flow, expression, values))
    return flow, tuple(found)


def _leaf(flow: Flow, expression: Expr, values: Columns) -> Leaf[Column]:
    argument = flow.evaluated(expression, values)
    assert isinstance(argument, Leaf)
    return argument


def _reads_nothing(part: Combiner[object, object, object]) -> bool:
    return isinstance(part, Count) or (isinstance(part, Over) and isinstance(part.combiner, Count))


def _argument(part: Combiner[object, object, object], value: Shape) -> Expr | None:
    if isinstance(part, Over):
        return within(f"{type(part.combiner).__name__}.of", analyse_function(part.function, Param(value)))
    return None if isinstance(part, Count) else Param(value)


def _computed_in_python(flow: Flow, node: CombinePerKey, expressions: list[Expr | None]) -> Flow:
    """The flow with each value replaced by the tuple of what the combiners read."""
    parts = scalar_combiners(node.combiner)
    assert isinstance(flow.shape, RecordOf)
    key, value = flow.shape.fields
    shapes = []
    for part, expression in zip(parts, expressions, strict=True):
        shape = value.shape if expression is None else expression.shape
        if shape is None:
            label = part.label if isinstance(part, Over) else node.label
            raise UnsupportedError(
                f"{label}: Spark cannot know the type of its result; use a def with a return annotation"
            )
        shapes.append(shape)
    calls = tuple(part.function if isinstance(part, Over) else None for part in parts)
    reason = next(one for one in map(_opaque, expressions) if one is not None)
    after = kv_of(key.shape, TupleOf(tuple(shapes)))
    step = Map(OnValue(Call(Arguments(calls, node.label))), f"the arguments of {node.label}")
    return in_python(flow, [StepAnalysis(step, flow.shape, evolve(reason, shape=after), after)])


def _opaque(expression: Expr | None) -> Opaque | None:
    return None if expression is None else opaque_part(expression)


__all__ = ["GroupingColumns", "grouping_columns"]
