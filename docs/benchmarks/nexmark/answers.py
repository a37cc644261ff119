"""The answer of a query: its rows as a bag, in a form that is the same for all engines.

The panes of a stream are a log of changes. Their values count once, and their retractions minus once, so that the
answer is what is current in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl
from attrs import fields, has

from flowalg import PCollection, Run
from flowalg.data.shapes import RecordOf
from flowalg.runs import Change

TIMES: Final = "times"
CHANGE: Final = "change"


def from_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the answer of rows, perhaps with a column ``change``, of panes.

    Columns are known by their position. Those of records are replaced by those of their fields, floats are rounded, and
    timestamps are microseconds. There is a row for each distinct row, with the number of ``times`` that it occurs.
    """
    times = pl.lit(1)
    if CHANGE in frame.columns:
        times = pl.when(pl.col(CHANGE) == Change.VALUE.value).then(1).otherwise(-1)
    columns = _leaves(pl.struct(pl.exclude(CHANGE)), pl.Struct(frame.drop(CHANGE, strict=False).schema))
    flat = frame.select(
        *(column.alias(f"c{number}") for number, column in enumerate(columns)), times.alias(TIMES)
    )
    names = flat.columns[:-1]
    current = flat.group_by(names).agg(pl.col(TIMES).sum().cast(pl.Int64())).filter(pl.col(TIMES) != 0)
    return current.sort(names)


def from_run(run: Run[object]) -> pl.DataFrame:
    """Returns the answer of a run."""
    rows = [(*_fields(element.element), Change.VALUE.value) for element in run.elements]
    rows += [(*_fields(pane.element), pane.change.value) for pane in run.panes]
    names = [f"c{number}" for number in range(len(rows[0]) - 1)] if rows else []
    return from_frame(pl.DataFrame(rows, [*names, CHANGE], orient="row", infer_schema_length=None))


def agree(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    """Whether two answers are equal; one without rows may lack columns."""
    return left.equals(right) or (left.is_empty() and right.is_empty())


def columns_of(pipeline: PCollection[object]) -> list[str]:
    """Returns the columns that the frames of engines have for the elements of a pipeline, which are records."""
    shape = pipeline.shape
    assert isinstance(shape, RecordOf), shape
    return [field.name for field in shape.fields]


def _leaves(column: pl.Expr, kind: pl.DataType) -> Iterator[pl.Expr]:
    match kind:
        case pl.Struct():
            for field in kind.fields:
                assert isinstance(field.dtype, pl.DataType)
                yield from _leaves(column.struct.field(field.name), field.dtype)
        case pl.Datetime():
            yield column.dt.epoch("us")
        case _ if kind.is_float():
            yield column.round(6)
        case _ if kind.is_numeric():
            yield column.cast(pl.Int64())
        case _:
            yield column


def _fields(value: object) -> Iterator[object]:
    """Yields the parts of a record or tuple, and those of its parts."""
    kind = type(value)
    if has(kind):
        value = tuple(getattr(value, field.name) for field in fields(kind))
    if isinstance(value, tuple):
        for item in value:
            yield from _fields(item)
    else:
        yield value
