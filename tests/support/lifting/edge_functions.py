"""Functions of an edge row: their lifted expressions, and their results in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from attrs import frozen
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import parts_of
from flowalg_columns.values import encode

from flowalg.data.errors import FlowalgError
from flowalg.data.shapes import RecordOf, shape_of
from flowalg.data.values import canonicalize
from flowalg.elementwise.functions import Call
from flowalg.lifting.lift import lift
from flowalg.lifting.normal_form import normal_form
from flowalg.lifting.tree.expressions import Expr, Param
from tests.support.lifting.family import EdgeFunction
from tests.support.lifting.rows import Edge

_EDGE = shape_of(Edge)
assert isinstance(_EDGE, RecordOf)
EDGE: Final[RecordOf] = _EDGE


def lift_edge_function(f: EdgeFunction) -> Expr:
    """Returns the lifted expression of a function of an ``Edge``, in its normal form as a step has it."""
    return normal_form(lift(Call(f), (Param(EDGE),)))


@frozen
class Raised:
    """The outcome of a function without a valid result."""

    error: str


def python_result(f: EdgeFunction, row: Edge) -> object:
    """Returns the result of the function in Python, or ``Raised`` if it has no valid result."""
    try:
        return canonicalize(f(row), "the result")
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, FlowalgError) as error:
        return Raised(repr(error))


def table_of(rows: Sequence[Edge]) -> pa.Table:
    """Returns the rows as an Arrow table that a source would read."""
    schema = pa.schema([(name, arrow_type(shape)) for name, shape in parts_of(EDGE)])
    return pa.Table.from_pylist([encode(row, EDGE) for row in rows], schema=schema)  # type: ignore[misc]
