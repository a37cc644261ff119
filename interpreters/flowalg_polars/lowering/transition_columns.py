"""The function of a computation that observes elements, as columns of Polars."""

from __future__ import annotations

import polars as pl
from flowalg_columns.layout import Branch, Leaf, layout_of, leaf_columns
from flowalg_shard.computations.columns import (
    LATE,
    NOW,
    WATERMARK,
    OutputColumns,
    TimerColumns,
    TransitionColumns,
)
from flowalg_shard.tables.columns import EVENT_TIME

from flowalg.computations.library import state_shape
from flowalg.data.shapes import BOOLEAN, TIMESTAMP, RecordOf, Shape
from flowalg.lifting.transitions import LiftedTransition, lift_transition
from flowalg.lifting.tree.expressions import Expr, Opaque
from flowalg.pipeline.nodes import Process
from flowalg_polars.columns import EXPRESSIONS
from flowalg_polars.expressions import compile_expression
from flowalg_polars.expressions.failures import Failures, any_failure


def transition_columns(node: Process, element: RecordOf, output: Shape) -> TransitionColumns | Opaque:
    """Returns the columns of what ``on_element`` returns; why only Python can compute it, if it is not lifted."""
    computation = node.computation
    key, value = (part.shape for part in element.fields)
    state = state_shape(computation, value)
    if state is None:
        return Opaque(None, "a state of unknown type", "")
    lifted = lift_transition(
        computation.on_element, state, key, value, output, fires=computation.on_timer is not None
    )
    return lifted if isinstance(lifted, Opaque) else _compile(lifted)


def _compile(lifted: LiftedTransition) -> TransitionColumns:
    state, observed, clocks = lifted.arguments.items
    assert isinstance(observed, RecordOf), "an observed element"
    assert isinstance(clocks, RecordOf), "clocks"
    key, value = (part.shape for part in observed.fields[:2])
    element = Branch(
        lifted.arguments,
        (
            EXPRESSIONS.columns_of(layout_of(state, "__state")),
            Branch(
                observed,
                (
                    EXPRESSIONS.columns_of(layout_of(key, "key")),
                    EXPRESSIONS.columns_of(layout_of(value, "value")),
                    Leaf(TIMESTAMP, EXPRESSIONS.timestamp(pl.col(EVENT_TIME))),
                    Leaf(BOOLEAN, pl.col(LATE)),
                ),
            ),
            Branch(
                clocks,
                (
                    Leaf(TIMESTAMP, EXPRESSIONS.timestamp(pl.col(NOW))),
                    Leaf(TIMESTAMP, EXPRESSIONS.timestamp(pl.col(WATERMARK))),
                    Leaf(BOOLEAN, pl.lit(False)),  # timers alone fire when the input has ended
                ),
            ),
        ),
    )
    failures: Failures = ()

    def compile_part(expr: Expr) -> tuple[pl.Expr, ...]:
        nonlocal failures
        compiled = compile_expression(expr, element)
        failures = (*failures, *compiled.failures)
        return leaf_columns(compiled.columns)

    def single(expr: Expr) -> pl.Expr:
        (column,) = compile_part(expr)
        return column

    return TransitionColumns(
        compile_part(lifted.state),
        single(lifted.freed),
        tuple(OutputColumns(single(part.present), compile_part(part.value)) for part in lifted.outputs),
        tuple(
            TimerColumns(
                timer.tag, timer.of_event, single(timer.touched), EXPRESSIONS.micros(single(timer.at))
            )
            for timer in lifted.timers
        ),
        any_failure(failures),
    )
