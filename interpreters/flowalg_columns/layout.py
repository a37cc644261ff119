"""The layout of elements in columns: records, tuples and sums are flattened, every other value is one column.

With a flat layout, an engine prunes fields that are not read, and a lifted function is a plain projection. Expressions
compile to trees of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol, Self, TypeAlias, TypeVar, assert_never

from attrs import frozen

from flowalg.data.shapes import (
    INTEGER,
    Composite,
    ListOf,
    OptionalOf,
    RecordOf,
    Shape,
    SumOf,
    TupleOf,
    kv_of,
    optional,
)

A = TypeVar("A")
VALUE: Final = "value"
"""The column of elements that are not records."""
PATH_SEPARATOR: Final = "/"
"""The separator of names in a path. No field's name contains it, and no engine interprets it in names."""


@frozen
class Leaf(Generic[A]):
    """A value in one column."""

    shape: Shape
    column: A


@frozen
class Branch(Generic[A]):
    """A record, tuple or sum whose parts have their own columns."""

    shape: Composite
    parts: tuple[Tree[A], ...]


Tree: TypeAlias = Leaf[A] | Branch[A]

Layout: TypeAlias = Tree[str]
"""A tree of column names."""


def parts_of(shape: Composite) -> tuple[tuple[str, Shape], ...]:
    """Returns the named parts of a shape.

    The items of a tuple are named ``_1``, ``_2`` and so on. Each member of a sum is an optional part, and exactly one
    of them is not null.
    """
    match shape:
        case RecordOf(fields=fields):
            return tuple((field.name, field.shape) for field in fields)
        case TupleOf(items=items):
            return tuple((f"_{number}", item) for number, item in enumerate(items, start=1))
        case SumOf(members=members):
            return tuple((member.name, OptionalOf(member.shape)) for member in members)
    assert_never(shape)


def fields_in(shape: Shape) -> tuple[tuple[str, Shape], ...]:
    """Returns the columns of an element in a user's frame: the fields of a record, otherwise ``value``."""
    return parts_of(shape) if isinstance(shape, RecordOf) else ((VALUE, shape),)


def layout_of(shape: Shape, name: str = "") -> Layout:
    """Returns the layout of a shape: leaves are named by their path, and a scalar element is named ``value``."""
    if isinstance(shape, Composite):
        prefix = f"{name}{PATH_SEPARATOR}" if name else ""
        return Branch(
            shape, tuple(layout_of(part, f"{prefix}{part_name}") for part_name, part in parts_of(shape))
        )
    return Leaf(shape, name or VALUE)


def leaves(tree: Tree[A]) -> tuple[Leaf[A], ...]:
    """Returns the leaves of a tree, in order."""
    match tree:
        case Leaf():
            return (tree,)
        case Branch(parts=parts):
            return tuple(leaf for part in parts for leaf in leaves(part))


def leaf_columns(tree: Tree[A]) -> tuple[A, ...]:
    """Returns the columns at the leaves of a tree, in order."""
    return tuple(leaf.column for leaf in leaves(tree))


def key_and_value(tree: Tree[A]) -> tuple[Tree[A], Tree[A]]:
    """Returns the key and the value of a tree of pairs."""
    assert isinstance(tree, Branch), "a pair has parts"
    key, value = tree.parts
    return key, value


def with_times(pair: Tree[A], time: A) -> Branch[A]:
    """Returns a pair whose value is a tuple of the value and its event time."""
    key, value = key_and_value(pair)
    both = TupleOf((value.shape, INTEGER))
    return Branch(kv_of(key.shape, both), (key, Branch(both, (value, Leaf(INTEGER, time)))))


def lists_of(shape: Shape) -> tuple[Shape, tuple[Shape, ...]]:
    """Returns the shape of the key of a co-group, and those of the items of its lists."""
    assert isinstance(shape, RecordOf), "a co-group emits pairs"
    key, lists = (field.shape for field in shape.fields)
    assert isinstance(lists, TupleOf), "a co-group has several lists"
    return key, tuple(part.of for part in lists.items if isinstance(part, ListOf))


class Expression(Protocol):
    """An expression over columns, which can be named."""

    def alias(self, name: str, /) -> Self:
        """Returns the expression with a name."""
        ...


E = TypeVar("E", bound=Expression)


def flatten_columns(columns: Tree[E], shape: Shape) -> list[E]:
    """Returns the columns of a tree, named by the layout of its shape."""
    names = leaf_columns(layout_of(shape))
    return [column.alias(name) for name, column in zip(names, leaf_columns(columns), strict=True)]


@frozen
class Expressions(Generic[E]):
    """The expressions of an engine: a column by its name, a struct of named columns, and a field of a struct.

    ``timestamp`` converts microseconds to a timestamp, and ``micros`` a timestamp to microseconds.
    """

    column: Callable[[str], E]
    struct: Callable[[Sequence[E]], E]
    field: Callable[[E, str], E]
    timestamp: Callable[[E], E]
    micros: Callable[[E], E]

    def columns_of(self, layout: Layout, column: Callable[[str], E] | None = None) -> Tree[E]:
        """Returns the columns of a layout; ``column`` maps a name to its column."""
        match layout:
            case Leaf(shape=shape, column=name):
                return Leaf(shape, (column or self.column)(name))
            case Branch(shape=shape, parts=parts):
                return Branch(shape, tuple(self.columns_of(part, column) for part in parts))

    def frame_columns(self, shape: Shape, column: Callable[[str], E] | None = None) -> Tree[E]:
        """Returns an element's columns in a user's frame: one for each field of a record, otherwise ``value``."""
        parts = tuple(self.unnest((column or self.column)(name), part) for name, part in fields_in(shape))
        return Branch(shape, parts) if isinstance(shape, RecordOf) else parts[0]

    def unnest(self, column: E, shape: Shape) -> Tree[E]:
        """Converts one column, with structs for its parts, to a tree."""
        if isinstance(shape, Composite):
            parts = (self.unnest(self.field(column, name), part) for name, part in parts_of(shape))
            return Branch(shape, tuple(parts))
        return Leaf(shape, column)

    def nest(self, columns: Tree[E]) -> E:
        """Converts a tree to one column, with structs for its branches."""
        match columns:
            case Leaf(column=column):
                return column
            case Branch(shape=shape, parts=parts):
                names = (name for name, _ in parts_of(shape))
                return self.struct(
                    [self.nest(part).alias(name) for name, part in zip(names, parts, strict=True)]
                )

    def without_times(self, pair: Tree[E]) -> tuple[Branch[E], list[E]]:
        """Returns a pair of two values ``with_times`` without these, and the times; null for a missing value."""
        key, values = key_and_value(pair)
        assert isinstance(values, Branch), "a join has pairs of values"
        sides = [(self.nest(side), _without_time(side.shape)) for side in values.parts]
        both = TupleOf(tuple(shape for _, shape in sides))
        parts = tuple(self.unnest(self.field(side, "_1"), shape) for side, shape in sides)
        untimed = Branch(kv_of(key.shape, both), (key, Branch(both, parts)))
        return untimed, [self.field(side, "_2") for side, _ in sides]


def _without_time(shape: Shape) -> Shape:
    """Returns the shape of a value without its event time."""
    if isinstance(shape, OptionalOf):
        return optional(_without_time(shape.of))
    assert isinstance(shape, TupleOf), "a value has an event time"
    return shape.items[0]
