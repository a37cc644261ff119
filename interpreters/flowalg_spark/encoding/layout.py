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
PATH: Final = "/"
"""Between the names of a path: in no field's name, and of no meaning to Spark's own names."""

B = TypeVar("B")


@frozen
class Leaf(Generic[A]):
    """A value in one column."""

    shape: Shape
    at: A


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
        prefix = f"{name}{PATH}" if name else ""
        return Branch(shape, tuple(layout_of(one, f"{prefix}{part}") for part, one in parts_of(shape)))
    return Leaf(shape, name or "value")


def leaves(tree: Tree[A]) -> tuple[Leaf[A], ...]:
    """The leaves of a tree, in order."""
    match tree:
        case Leaf():
            return (tree,)
        case Branch(parts=parts):
            return tuple(leaf for part in parts for leaf in leaves(part))


def places(tree: Tree[A]) -> tuple[A, ...]:
    """What is at the leaves of a tree, in order."""
    return tuple(leaf.at for leaf in leaves(tree))


def pair_of(tree: Tree[A]) -> tuple[Tree[A], Tree[A]]:
    """The key and the value of a tree of pairs."""
    assert isinstance(tree, Branch), "a pair has parts"
    key, value = tree.parts
    return key, value


_KNOWN: Final[ContextVar[dict[str, Column] | None]] = ContextVar("known columns", default=None)


@contextmanager
def remembered() -> Iterator[None]:
    """Have ``named`` make each column once, since making one takes several calls of the JVM."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def named(name: str) -> Column:
    """The column of that exact name, dots included."""
    known = _KNOWN.get()
    if known is None:
        return F.col(f"`{name}`")
    if name not in known:
        known[name] = F.col(f"`{name}`")
    return known[name]


def columns_at(layout: Layout, at: Callable[[str], Column] = named) -> Columns:
    """The columns where a layout says that they lie; ``at`` finds the column of a name."""
    match layout:
        case Leaf(shape=shape, at=name):
            return Leaf(shape, at(name))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(columns_at(part, at) for part in parts))


def unnested(column: Column, shape: Shape) -> Columns:
    """One column, with structs for records and tuples, as a tree."""
    if isinstance(shape, RecordOf | TupleOf):
        return Branch(shape, tuple(unnested(column.getField(name), one) for name, one in parts_of(shape)))
    return Leaf(shape, column)


def visible_element(shape: Shape) -> Columns:
    """An element in a frame that a person sees: the fields of a record are columns, others are ``value``."""
    if isinstance(shape, RecordOf):
        return Branch(shape, tuple(unnested(named(one.name), one.shape) for one in shape.fields))
    return unnested(named("value"), shape)


def nested(columns: Columns) -> Column:
    """A tree as one column, with structs for its branches."""
    match columns:
        case Leaf(at=column):
            return column
        case Branch(shape=shape, parts=parts):
            names = (name for name, _ in parts_of(shape))
            return F.struct(*(nested(part).alias(name) for name, part in zip(names, parts, strict=True)))


def spread(columns: Columns, shape: Shape) -> list[Column]:
    """A tree as the flat columns of the layout of its shape."""
    names = places(layout_of(shape))
    return [titled(name, column) for name, column in zip(names, places(columns), strict=True)]


def titled(name: str, column: Column) -> Column:
    """The column under a name; one that has it already takes no call of the JVM."""
    known = _KNOWN.get() or {}
    return column if known.get(name) is column else column.alias(name)


__all__ = [
    "PATH",
    "Branch",
    "Columns",
    "Layout",
    "Leaf",
    "Tree",
    "columns_at",
    "layout_of",
    "leaves",
    "named",
    "nested",
    "pair_of",
    "places",
    "remembered",
    "spread",
    "titled",
    "unnested",
    "visible_element",
]
