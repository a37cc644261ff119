"""Evaluates the lifted expressions of functions of an edge row in Polars, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import polars as pl
from attrs import frozen
from flowalg_columns.layout import Branch
from flowalg_columns.values import decode
from flowalg_polars.columns import Columns, nest, polars_type, unnest
from flowalg_polars.expressions import compile_expression

from flowalg.lifting.tree.expressions import Expr
from tests.support.lifting.edge_functions import EDGE, table_of
from tests.support.lifting.rows import Edge

Engine: TypeAlias = Literal["in-memory", "streaming"]
ENGINES: Final[tuple[Engine, ...]] = ("in-memory", "streaming")
"""Polars evaluates expressions by different code in each of them."""


@frozen
class Failed:
    """The outcome of a row that fails, with its message."""

    message: str


_ELEMENT: Final[Columns] = Branch(
    EDGE, tuple(unnest(pl.col(field.name), field.shape) for field in EDGE.fields)
)


def frame_of(rows: Sequence[Edge]) -> pl.DataFrame:
    """Returns the rows as a frame that a source would read."""
    frame = pl.from_arrow(table_of(rows))
    assert isinstance(frame, pl.DataFrame)
    return frame.select(pl.col(field.name).cast(polars_type(field.shape)) for field in EDGE.fields)


def polars_results(
    frame: pl.DataFrame, expressions: Sequence[Expr], engine: Engine = "in-memory"
) -> list[list[object]]:
    """Returns the result of each expression in every row, or ``Failed``, of one query."""
    columns: list[pl.Expr] = []
    for number, expression in enumerate(expressions):
        compiled = compile_expression(expression, _ELEMENT)
        columns.append(nest(compiled.columns).alias(f"value{number}"))
        for name, column in (("message", compiled.failure), ("fails", compiled.fails)):
            columns.append((pl.lit(None) if column is None else column).alias(f"{name}{number}"))
    computed = frame.lazy().select(pl.first().alias("row"), *columns).collect(engine=engine)
    results = []
    for number, expression in enumerate(expressions):
        shape = expression.shape
        assert shape is not None
        values, messages = computed[f"value{number}"], computed[f"message{number}"]
        assert values.dtype == polars_type(shape), f"{values.dtype}, not {polars_type(shape)}"
        assert computed[f"fails{number}"].fill_null(value=False).to_list() == messages.is_not_null().to_list()
        succeeds = iter(values.filter(messages.is_null()).to_arrow().to_pylist())
        results.append(
            [decode(next(succeeds), shape) if message is None else Failed(message) for message in messages]
        )
    return results
