"""The arguments of combiners as columns, lifted or computed in Python."""

from __future__ import annotations

from attrs import evolve, frozen
from flowalg_columns.checks.shapes import unknown_function_result
from flowalg_columns.combiners import ArgumentOf, argument_of
from flowalg_columns.layout import Branch, key_and_value
from flowalg_columns.notes import note_of_function

from flowalg.combiners.core import AnyCombiner, Over, component_combiners
from flowalg.data.shapes import RecordOf, Shape, TupleOf, kv_of
from flowalg.elementwise.steps import Map
from flowalg.lifting.tree.expressions import Expr, first_opaque
from flowalg.pipeline.nodes import CombinePerKey
from flowalg_spark.encoding.columns import Columns, col, unnest
from flowalg_spark.lowering.flow import Flow, is_stored
from flowalg_spark.lowering.python_columns import python_column


@frozen
class Arguments:
    """A flow of pairs, its combiners, and the columns that they read.

    ``columns`` are distinct; ``reads`` has the index into them for each combiner.
    """

    flow: Flow
    combiners: tuple[AnyCombiner, ...]
    columns: tuple[Columns, ...]
    reads: tuple[int, ...]

    @property
    def by_combiner(self) -> tuple[Columns, ...]:
        """The columns that each combiner reads."""
        return tuple(self.columns[index] for index in self.reads)

    def narrow(self) -> Arguments:
        """Replaces the values of the flow by the columns that combiners read, each computed once."""
        pair, _ = _pair_shapes(self.flow)
        shape = TupleOf(tuple(column.shape for column in self.columns))
        narrow_pair = kv_of(pair.fields[0].shape, shape)
        element = Branch(narrow_pair, (key_and_value(self.flow.element)[0], Branch(shape, self.columns)))
        flow = self.flow.select(element, narrow_pair)
        values = key_and_value(flow.element)[1]
        assert isinstance(values, Branch), "the values are tuples"
        return evolve(self, flow=flow, columns=values.parts)


def combiner_arguments(
    flow: Flow, node: CombinePerKey, of: ArgumentOf = argument_of, *, narrow: bool = False
) -> Arguments:
    """Returns the arguments of a grouping's combiners, as columns of its flow.

    With ``narrow``, or if an argument is computed, the flow's values contain only the arguments. Raises
    ``UnsupportedError`` if a function is not lifted and its result type is unknown.
    """
    _, value = _pair_shapes(flow)
    columns: dict[Expr, Columns] = {}
    reads: list[int] = []
    combiners = component_combiners(node.combiner)
    for part in combiners:
        expression = of(part, value)
        opaque = first_opaque(expression)
        if expression not in columns:
            element = key_and_value(flow.element)[1]
            if opaque is None:
                columns[expression] = flow.evaluate(expression, element)
            else:
                flow, columns[expression] = _compute_in_python(
                    flow, part, expression, f"__argument{len(columns)}"
                )
        reads.append(list(columns).index(expression))
        if isinstance(part, Over):
            flow = flow.with_notes(note_of_function(part.label, opaque))
    arguments = Arguments(flow, combiners, tuple(columns.values()), tuple(reads))
    return arguments.narrow() if narrow or not all(map(is_stored, columns)) else arguments


def _pair_shapes(flow: Flow) -> tuple[RecordOf, Shape]:
    """Returns the shapes of a flow's pairs and of their values."""
    assert isinstance(flow.shape, RecordOf), "the input of a grouping is pairs"
    return flow.shape, flow.shape.fields[1].shape


def _compute_in_python(flow: Flow, part: AnyCombiner, expression: Expr, name: str) -> tuple[Flow, Columns]:
    """Returns the flow with an additional column that Python computes, and that column."""
    assert isinstance(part, Over), "only user-defined functions are not lifted"
    if expression.shape is None:
        raise unknown_function_result("Spark", part.label, first_opaque(expression))
    step = Map(part.function, type(part.combiner).__name__ + ".of")
    computed = python_column(flow, step, part.function, key_and_value(flow.element)[1], expression.shape)
    return evolve(flow, frame=flow.frame.select("*", computed.alias(name))), unnest(
        col(name), expression.shape
    )
