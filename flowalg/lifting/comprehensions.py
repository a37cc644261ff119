"""A ``flat_map`` by a comprehension: a row for each item of a list, then a filter and a map of these rows."""

from __future__ import annotations

from attrs import frozen

from flowalg.data.shapes import INTEGER, ListOf, Shape, TupleOf
from flowalg.lifting.tree.expressions import TRUE, Apply, Each, Expr, Item, Param, items_of, rewrite, walk
from flowalg.lifting.tree.primitives import Op


@frozen
class ItemRows:
    """What a comprehension keeps and returns of a row of ``shape``: an element, an item of its list, and its position.

    The positions are arbitrary unless the comprehension ``reads_positions``.
    """

    shape: TupleOf
    kept: Expr
    result: Expr
    reads_positions: bool


def as_comprehension(items: Expr) -> Each:
    """Returns the list that a ``flat_map`` returns as a comprehension, which has all items of another list."""
    if isinstance(items, Each):
        return items
    assert isinstance(items.shape, ListOf), "a lifted flat_map returns a list"
    return Each(items, TRUE, Item(items.shape.of), items.shape, "")


def item_rows(comprehension: Each, before: Shape) -> ItemRows:
    """Returns a comprehension of elements of the shape ``before`` as expressions of rows of an item each."""
    assert isinstance(comprehension.of.shape, ListOf), "a comprehension goes through a list"
    shape = TupleOf((before, comprehension.of.shape.of, INTEGER))
    element, item, position = items_of(Param(shape))

    def of_row(node: Expr) -> Expr:
        match node:
            case Param():
                return element
            case Item():
                return item
            case Apply(op=Op.POSITION):
                return Apply(Op.POSITION, (position,), INTEGER, node.location)
            case _:
                return node

    nodes = (*walk(comprehension.kept), *walk(comprehension.result))
    reads_positions = any(isinstance(node, Apply) and node.op is Op.POSITION for node in nodes)
    return ItemRows(
        shape, rewrite(comprehension.kept, of_row), rewrite(comprehension.result, of_row), reads_positions
    )
