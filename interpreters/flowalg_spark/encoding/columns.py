"""The elements of a flow as trees of Spark columns, which ``flowalg_columns.layout`` names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

from flowalg_columns.layout import Branch, Layout, Leaf, Tree, layout_of, leaf_columns, parts_of
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from flowalg.data.shapes import RecordOf, Shape, TupleOf

Columns: TypeAlias = Tree[Column]
"""A tree of column expressions."""

CASE_SENSITIVE: Final = "spark.sql.caseSensitive"
"""Spark's setting for whether names of columns that differ in case only are two."""

_CACHE: Final[ContextVar[dict[str, Column] | None]] = ContextVar("columns by name", default=None)


@contextmanager
def cache_columns() -> Iterator[None]:
    """Caches the columns that ``col`` creates, since each takes several calls of the JVM."""
    token = _CACHE.set({})
    try:
        yield
    finally:
        _CACHE.reset(token)


def quoted(name: str) -> str:
    """Returns the name of a column as a part of a path, with what separates or quotes parts."""
    return f"`{name.replace('`', '``')}`"


def same_column(name: str, session: SparkSession) -> str:
    """Returns what is equal for names that a session takes for one column: by default it ignores case."""
    is_case_sensitive = str(session.conf.get(CASE_SENSITIVE, "false")).lower() == "true"
    return name if is_case_sensitive else name.lower()


def col(name: str) -> Column:
    """Returns the column with exactly this name, dots and backticks included."""
    cache = _CACHE.get()
    if cache is None:
        return F.col(quoted(name))
    if name not in cache:
        cache[name] = F.col(quoted(name))
    return cache[name]


def columns_of(layout: Layout, column_of: Callable[[str], Column] = col) -> Columns:
    """Returns the columns of a layout; ``column_of`` maps a name to its column."""
    match layout:
        case Leaf(shape=shape, column=name):
            return Leaf(shape, column_of(name))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(columns_of(part, column_of) for part in parts))


def unnest(column: Column, shape: Shape) -> Columns:
    """Converts one column, with structs for records and tuples, to a tree."""
    if isinstance(shape, RecordOf | TupleOf):
        return Branch(shape, tuple(unnest(column.getField(name), part) for name, part in parts_of(shape)))
    return Leaf(shape, column)


def frame_columns(shape: Shape, column_of: Callable[[str], Column] = col) -> Columns:
    """Returns an element's columns in a user's frame: one for each field of a record, otherwise ``value``."""
    if isinstance(shape, RecordOf):
        return Branch(shape, tuple(unnest(column_of(field.name), field.shape) for field in shape.fields))
    return unnest(column_of("value"), shape)


def nest(columns: Columns) -> Column:
    """Converts a tree to one column, with structs for its branches."""
    match columns:
        case Leaf(column=column):
            return column
        case Branch(shape=shape, parts=parts):
            names = (name for name, _ in parts_of(shape))
            return F.struct(*(nest(part).alias(name) for name, part in zip(names, parts, strict=True)))


def flatten_columns(columns: Columns, shape: Shape) -> list[Column]:
    """Returns the columns of a tree, named by the layout of its shape."""
    names = leaf_columns(layout_of(shape))
    return [alias_column(name, column) for name, column in zip(names, leaf_columns(columns), strict=True)]


def alias_column(name: str, column: Column) -> Column:
    """Returns the column under a name. A cached column that already has the name needs no call of the JVM."""
    cache = _CACHE.get() or {}
    return column if cache.get(name) is column else column.alias(name)
