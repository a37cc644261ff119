"""``in``: among constants, among other values, in a list, in a text."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Final

from flowalg.data.shapes import BOOLEAN, DECIMAL, DURATION, FLOAT, TEXT, ListOf, OptionalOf, Scalar, TupleOf
from flowalg.lifting.operations.comparisons import compared, has_plain_equality, is_none, present
from flowalg.lifting.operations.texts import contains
from flowalg.lifting.tree.expressions import FALSE, TRUE, Apply, Build, Choice, Constant, Expr, Opaque, either
from flowalg.lifting.tree.failures import can_fail, has_wide
from flowalg.lifting.tree.primitives import Op

_MOST_COMPARISONS: Final = 16
"""More values that are no constants are not compared one by one."""


def member(of: Expr, container: Expr, place: str) -> Expr:
    """``of in container``."""
    if isinstance(container, Opaque):
        return Opaque(BOOLEAN, container.reason, container.place)
    if container.shape == TEXT and of.shape == TEXT:
        return contains(container, of, place)
    match container:
        case Build(shape=TupleOf(), parts=parts) | Apply(op=Op.LIST, args=parts):
            return one_of(of, parts, place)
        case _:
            pass
    match container.shape:
        case _ if has_wide(of):
            return Opaque(BOOLEAN, "`in` with an integer that may exceed 64 bits", place)
        case ListOf(of=Scalar() as inner) if inner == of.shape and inner not in (FLOAT, DURATION, DECIMAL):
            return Apply(Op.HAS_ITEM, (container, of), BOOLEAN, place)
        case _:
            return Opaque(BOOLEAN, f"{of.shape} in {container.shape}", place)


def one_of(of: Expr, items: Sequence[Expr], place: str) -> Expr:
    """Whether an expression is equal to one of several."""
    if isinstance(of.shape, OptionalOf):
        missing = is_none(of, place)
        value = one_of(present(of, place), [item for item in items if not _is_none(item)], place)
        if isinstance(missing, Opaque):
            return missing
        return Choice(missing, TRUE if any(map(_is_none, items)) else FALSE, value, BOOLEAN)
    if any(can_fail(item) for item in items) or (not items and can_fail(of)):
        return Opaque(BOOLEAN, "`in` of what may fail", place)
    if not has_plain_equality(of.shape):
        return Opaque(BOOLEAN, f"`in` with a {of.shape}", place)
    if of.shape == FLOAT and any(_may_be_nan(item) for item in items):
        return Opaque(
            BOOLEAN, "`in` of floats that may be NaN, which is itself but not equal to itself", place
        )
    if items and of.shape not in (FLOAT, DURATION) and _are_constants(of, items):
        return Apply(Op.ONE_OF, (of, *items), BOOLEAN, place)
    if len(items) > _MOST_COMPARISONS:
        return Opaque(BOOLEAN, f"`in` {len(items)} values that are no constants of type {of.shape}", place)
    lifted: Expr = FALSE
    for one in reversed(items):
        equal = compared(ast.Eq(), of, one, place)
        lifted = equal if lifted == FALSE else either(equal, lifted)
    return lifted


def _is_none(one: Expr) -> bool:
    return isinstance(one, Constant) and one.value is None


def _may_be_nan(one: Expr) -> bool:
    if isinstance(one, Constant) and isinstance(one.value, float):
        return math.isnan(one.value)
    return one.shape == FLOAT


def _are_constants(of: Expr, items: Sequence[Expr]) -> bool:
    return all(isinstance(item, Constant) and item.shape == of.shape for item in items)


__all__ = ["member", "one_of"]
