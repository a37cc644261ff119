"""The layout of elements in columns: records and tuples are flattened, every other value is one column.

With a flat layout, an engine prunes fields that are not read, and a lifted function is a plain projection. Expressions
compile to trees of columns.
"""

from __future__ import annotations

from typing import Final, Generic, TypeAlias, TypeVar

from attrs import frozen

from flowalg.data.shapes import RecordOf, Shape, TupleOf

A = TypeVar("A")
PATH_SEPARATOR: Final = "/"
"""The separator of names in a path. No field's name contains it, and no engine interprets it in names."""


@frozen
class Leaf(Generic[A]):
    """A value in one column."""

    shape: Shape
    column: A


@frozen
class Branch(Generic[A]):
    """A record or tuple whose parts have their own columns."""

    shape: RecordOf | TupleOf
    parts: tuple[Tree[A], ...]


Tree: TypeAlias = Leaf[A] | Branch[A]

Layout: TypeAlias = Tree[str]
"""A tree of column names."""


def parts_of(shape: RecordOf | TupleOf) -> tuple[tuple[str, Shape], ...]:
    """Returns the named parts of a record or tuple; the items of a tuple are named ``_1``, ``_2`` and so on."""
    if isinstance(shape, RecordOf):
        return tuple((field.name, field.shape) for field in shape.fields)
    return tuple((f"_{number}", item) for number, item in enumerate(shape.items, start=1))


def fields_in(shape: Shape) -> tuple[tuple[str, Shape], ...]:
    """Returns the columns of an element in a user's frame: the fields of a record, otherwise ``value``."""
    return parts_of(shape) if isinstance(shape, RecordOf) else (("value", shape),)


def layout_of(shape: Shape, name: str = "") -> Layout:
    """Returns the layout of a shape: leaves are named by their path, and a scalar element is named ``value``."""
    if isinstance(shape, RecordOf | TupleOf):
        prefix = f"{name}{PATH_SEPARATOR}" if name else ""
        return Branch(
            shape, tuple(layout_of(part, f"{prefix}{part_name}") for part_name, part in parts_of(shape))
        )
    return Leaf(shape, name or "value")


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
