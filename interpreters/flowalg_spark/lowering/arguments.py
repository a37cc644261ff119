"""What the combiners of a grouping read: a column for each, lifted or computed in Python."""

from __future__ import annotations

from attrs import evolve, frozen

from flowalg.combiners.core import Combiner, Count, Over, Together
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import BOOLEAN, RecordOf, Shape, TupleOf, kv_of
from flowalg.elementwise.steps import Map
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.tree.expressions import Constant, Expr, Param, Part, first_opaque, qualify_locations
from flowalg.pipeline.nodes import CombinePerKey
from flowalg_spark.encoding.layout import Branch, Columns, col, key_and_value, unnest
from flowalg_spark.lowering.flow import Flow, LiftingNote
from flowalg_spark.lowering.python_columns import python_column

AnyCombiner = Combiner[object, object, object]


@frozen
class Arguments:
    """A flow of pairs, the different things that combiners read of their values, and which of them reads which."""

    flow: Flow
    combiners: tuple[AnyCombiner, ...]
    columns: tuple[Columns, ...]
    reads: tuple[int, ...]

    @property
    def read(self) -> tuple[Columns, ...]:
        """What each combiner reads."""
        return tuple(self.columns[number] for number in self.reads)

    def narrow(self) -> Arguments:
        """The same of a flow whose values are what is read and nothing else, computed once."""
        pair, _ = _pair(self.flow)
        shape = TupleOf(tuple(one.shape for one in self.columns))
        ready = kv_of(pair.fields[0].shape, shape)
        both = Branch(ready, (key_and_value(self.flow.element)[0], Branch(shape, self.columns)))
        flow = self.flow.select(both, ready)
        values = key_and_value(flow.element)[1]
        assert isinstance(values, Branch), "a tuple of what is read"
        return evolve(self, flow=flow, columns=values.parts)


def component_combiners(combiner: AnyCombiner) -> tuple[AnyCombiner, ...]:
    """The combiners that a combiner is made of, each of which has one result."""
    if isinstance(combiner, Together):
        return tuple(one for part in combiner.parts for one in component_combiners(part))
    return (combiner,)


def combiner_arguments(flow: Flow, node: CombinePerKey, *, narrow: bool = False) -> Arguments:
    """The flow made ready for its combiners. What has to be computed for them is a column of its own.

    If it is to be ``narrow``, or something has to be computed, its values are what combiners read and nothing else.
    Raises ``UnsupportedError`` when a function is not lifted and does not say the type of its result.
    """
    _, value = _pair(flow)
    columns: dict[Expr, Columns] = {}
    reads: list[int] = []
    combiners = component_combiners(node.combiner)
    for part in combiners:
        expression = _read(part, value)
        opaque = first_opaque(expression)
        if expression not in columns:
            element = key_and_value(flow.element)[1]
            if opaque is None:
                columns[expression] = flow.evaluate(expression, element)
            else:
                flow, columns[expression] = _in_python(flow, part, expression, f"__argument{len(columns)}")
        reads.append(list(columns).index(expression))
        if isinstance(part, Over):
            reason, place = (None, None) if opaque is None else (opaque.reason, opaque.location or None)
            flow = flow.with_notes(LiftingNote(part.label, reason, place))
    found = Arguments(flow, combiners, tuple(columns.values()), tuple(reads))
    return found.narrow() if narrow or not all(map(_is_there, columns)) else found


def _is_there(expression: Expr) -> bool:
    """Whether an expression takes nothing to compute: a part of the value, or a constant."""
    match expression:
        case Param() | Constant():
            return True
        case Part(of=of):
            return _is_there(of)
        case _:
            return False


def _pair(flow: Flow) -> tuple[RecordOf, Shape]:
    assert isinstance(flow.shape, RecordOf), "what is grouped is pairs"
    return flow.shape, flow.shape.fields[1].shape


def _read(part: AnyCombiner, value: Shape) -> Expr:
    """What a combiner reads of a value; a constant where it reads nothing."""
    if ignores_values(part):
        return Constant(True, BOOLEAN)
    if not isinstance(part, Over):
        return Param(value)
    return qualify_locations(
        f"{type(part.combiner).__name__}.of", analyse_function(part.function, Param(value))
    )


def ignores_values(part: AnyCombiner) -> bool:
    """Whether a combiner makes nothing of a value but that it is there."""
    return isinstance(part, Count) or (isinstance(part, Over) and isinstance(part.combiner, Count))


def _in_python(flow: Flow, part: AnyCombiner, expression: Expr, name: str) -> tuple[Flow, Columns]:
    """The flow with a column that Python computes, and that column."""
    assert isinstance(part, Over), "only a function of the user's is not lifted"
    if expression.shape is None:
        raise UnsupportedError(
            f"{part.label}: Spark cannot know the type of its result; use a def with a return annotation"
        )
    step = Map(part.function, type(part.combiner).__name__ + ".of")
    made = python_column(flow, step, part.function, key_and_value(flow.element)[1], expression.shape)
    return evolve(flow, frame=flow.frame.select("*", made.alias(name))), unnest(col(name), expression.shape)


__all__ = ["AnyCombiner", "Arguments", "combiner_arguments", "component_combiners", "ignores_values"]
