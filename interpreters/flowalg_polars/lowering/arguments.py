"""The arguments of combiners as columns, lifted or computed in Python."""

from __future__ import annotations

from attrs import frozen
from flowalg_columns.checks.shapes import unknown_function_result
from flowalg_columns.combiners import ArgumentOf, argument_of
from flowalg_columns.notes import LiftingNote, note_of_function

from flowalg.combiners.core import AnyCombiner, Over, component_combiners
from flowalg.elementwise.steps import Map
from flowalg.lifting.tree.expressions import Expr, first_opaque
from flowalg.pipeline.nodes import CombinePerKey
from flowalg_polars.columns import Columns, unnest
from flowalg_polars.lowering.failures import evaluate
from flowalg_polars.lowering.programs import ENGINE
from flowalg_polars.lowering.python_steps import python_column


@frozen
class Arguments:
    """The combiners of a grouping, the columns that each reads of a value, and how their functions run."""

    combiners: tuple[AnyCombiner, ...]
    columns: tuple[Columns, ...]
    notes: tuple[LiftingNote, ...]


def combiner_arguments(node: CombinePerKey, value: Columns, of: ArgumentOf = argument_of) -> Arguments:
    """Returns the arguments of a grouping's combiners, from the columns of a value.

    Raises ``UnsupportedError`` if a function is not lifted and its result type is unknown.
    """
    evaluated: dict[Expr, Columns] = {}
    columns: list[Columns] = []
    notes: list[LiftingNote] = []
    combiners = component_combiners(node.combiner)
    for part in combiners:
        expression = of(part, value.shape)
        opaque = first_opaque(expression)
        if expression not in evaluated:
            evaluated[expression] = (
                evaluate(expression, value) if opaque is None else _in_python(part, expression, value)
            )
        columns.append(evaluated[expression])
        if isinstance(part, Over):
            notes.append(note_of_function(part.label, opaque, ENGINE))
    return Arguments(combiners, tuple(columns), tuple(notes))


def _in_python(part: AnyCombiner, expression: Expr, value: Columns) -> Columns:
    assert isinstance(part, Over), "only user-defined functions are not lifted"
    if expression.shape is None:
        raise unknown_function_result(ENGINE, part.label, first_opaque(expression))
    step = Map(part.function, f"{type(part.combiner).__name__}.of")
    return unnest(python_column(step, part.function, value, expression.shape), expression.shape)
