"""How an element lies in columns: records and tuples are spread over them, everything else is one column.

A spread element lets Spark prune the fields that nobody reads, and lets a lifted function be a plain
projection. A tree of columns is what an expression evaluates to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Generic, TypeAlias, TypeVar

from attrs import frozen
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.data.shapes import RecordOf, Shape, TupleOf
from flowalg_spark.encoding.schema import parts_of

A = TypeVar("A")
PATH_SEPARATOR: Final = "/"
"""Between the names of a path: in no field's name, and of no meaning to Spark's own names."""

B = TypeVar("B")


@frozen
class Leaf(Generic[A]):
    """A value in one column."""

    shape: Shape
    column: A


@frozen
class Branch(Generic[A]):
    """A record or tuple whose parts lie in columns of their own."""

    shape: RecordOf | TupleOf
    parts: tuple[Tree[A], ...]


Tree: TypeAlias = Leaf[A] | Branch[A]

Layout: TypeAlias = Tree[str]
"""A tree of column names."""

Columns: TypeAlias = Tree[Column]
"""A tree of column expressions."""


def layout_of(shape: Shape, name: str = "") -> Layout:
    """Where an element of the shape lies: the leaves are named by their path, a scalar element ``value``."""
    if isinstance(shape, RecordOf | TupleOf):
        prefix = f"{name}{PATH_SEPARATOR}" if name else ""
        return Branch(shape, tuple(layout_of(one, f"{prefix}{part}") for part, one in parts_of(shape)))
    return Leaf(shape, name or "value")


def leaves(tree: Tree[A]) -> tuple[Leaf[A], ...]:
    """The leaves of a tree, in order."""
    match tree:
        case Leaf():
            return (tree,)
        case Branch(parts=parts):
            return tuple(leaf for part in parts for leaf in leaves(part))


def leaf_columns(tree: Tree[A]) -> tuple[A, ...]:
    """What is at the leaves of a tree, in order."""
    return tuple(leaf.column for leaf in leaves(tree))


def key_and_value(tree: Tree[A]) -> tuple[Tree[A], Tree[A]]:
    """The key and the value of a tree of pairs."""
    assert isinstance(tree, Branch), "a pair has parts"
    key, value = tree.parts
    return key, value


_KNOWN: Final[ContextVar[dict[str, Column] | None]] = ContextVar("known columns", default=None)


@contextmanager
def cache_columns() -> Iterator[None]:
    """Have ``col`` make each column once, since making one takes several calls of the JVM."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def col(name: str) -> Column:
    """The column of that exact name, dots included."""
    known = _KNOWN.get()
    if known is None:
        return F.col(f"`{name}`")
    if name not in known:
        known[name] = F.col(f"`{name}`")
    return known[name]


def columns_of(layout: Layout, at: Callable[[str], Column] = col) -> Columns:
    """The columns where a layout says that they lie; ``at`` finds the column of a name."""
    match layout:
        case Leaf(shape=shape, column=name):
            return Leaf(shape, at(name))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(columns_of(part, at) for part in parts))


def unnest(column: Column, shape: Shape) -> Columns:
    """One column, with structs for records and tuples, as a tree."""
    if isinstance(shape, RecordOf | TupleOf):
        return Branch(shape, tuple(unnest(column.getField(name), one) for name, one in parts_of(shape)))
    return Leaf(shape, column)


def frame_columns(shape: Shape) -> Columns:
    """An element in a frame that a person sees: the fields of a record are columns, others are ``value``."""
    if isinstance(shape, RecordOf):
        return Branch(shape, tuple(unnest(col(one.name), one.shape) for one in shape.fields))
    return unnest(col("value"), shape)


def nest(columns: Columns) -> Column:
    """A tree as one column, with structs for its branches."""
    match columns:
        case Leaf(column=column):
            return column
        case Branch(shape=shape, parts=parts):
            names = (name for name, _ in parts_of(shape))
            return F.struct(*(nest(part).alias(name) for name, part in zip(names, parts, strict=True)))


def flatten_columns(columns: Columns, shape: Shape) -> list[Column]:
    """A tree as the flat columns of the layout of its shape."""
    names = leaf_columns(layout_of(shape))
    return [alias_column(name, column) for name, column in zip(names, leaf_columns(columns), strict=True)]


def alias_column(name: str, column: Column) -> Column:
    """The column under a name; one that has it already takes no call of the JVM."""
    known = _KNOWN.get() or {}
    return column if known.get(name) is column else column.alias(name)


__all__ = [
    "PATH_SEPARATOR",
    "Branch",
    "Columns",
    "Layout",
    "Leaf",
    "Tree",
    "alias_column",
    "cache_columns",
    "col",
    "columns_of",
    "flatten_columns",
    "frame_columns",
    "key_and_value",
    "layout_of",
    "leaf_columns",
    "leaves",
    "nest",
    "unnest",
]
