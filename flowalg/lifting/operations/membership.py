"""Membership tests: ``in`` among constants, among other values, in a list, in a string."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Final

from flowalg.data.shapes import (
    BOOLEAN,
    DECIMAL,
    DURATION,
    FLOAT,
    TEXT,
    ListOf,
    MapOf,
    OptionalOf,
    Scalar,
    TupleOf,
)
from flowalg.lifting.operations.comparisons import compare, has_plain_equality, is_none, unwrap_optional
from flowalg.lifting.operations.mappings import has_key
from flowalg.lifting.operations.strings import contains
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    Build,
    Choice,
    Constant,
    Expr,
    Opaque,
    disjunction,
)
from flowalg.lifting.tree.failures import can_fail, has_wide
from flowalg.lifting.tree.primitives import Op

_MOST_COMPARISONS: Final = 16
"""The most items that are compared one by one if they are not constants."""


def is_member(of: Expr, container: Expr, location: str) -> Expr:
    """Lifts ``of in container``."""
    if isinstance(container, Opaque):
        return Opaque(BOOLEAN, container.reason, container.location)
    if container.shape == TEXT and of.shape == TEXT:
        return contains(container, of, location)
    match container:
        case Build(shape=TupleOf(), parts=parts) | Apply(op=Op.LIST, args=parts):
            return is_one_of(of, parts, location)
        case _:
            pass
    match container.shape:
        case MapOf() as mapping:
            return has_key(mapping, container, of, location)
        case _ if has_wide(of):
            return Opaque(BOOLEAN, "`in` with an integer that may exceed 64 bits", location)
        case ListOf(of=Scalar() as inner) if inner == of.shape and inner not in (FLOAT, DURATION, DECIMAL):
            return Apply(Op.HAS_ITEM, (container, of), BOOLEAN, location)
        case _:
            return Opaque(BOOLEAN, f"{of.shape} in {container.shape}", location)


def is_one_of(of: Expr, items: Sequence[Expr], location: str) -> Expr:
    """Lifts the test whether an expression equals one of several others."""
    if isinstance(of.shape, OptionalOf):
        missing = is_none(of, location)
        value = is_one_of(
            unwrap_optional(of, location), [item for item in items if not _is_none(item)], location
        )
        if isinstance(missing, Opaque):
            return missing
        return Choice(missing, TRUE if any(map(_is_none, items)) else FALSE, value, BOOLEAN)
    if any(can_fail(item) for item in items) or (not items and can_fail(of)):
        return Opaque(BOOLEAN, "`in` of items that may fail", location)
    if not has_plain_equality(of.shape):
        return Opaque(BOOLEAN, f"`in` with {of.shape}", location)
    if of.shape == FLOAT and any(_may_be_nan(item) for item in items):
        return Opaque(BOOLEAN, "`in` of floats that may be NaN, for which `in` tests identity", location)
    if items and of.shape not in (FLOAT, DURATION) and _are_constants(of, items):
        return Apply(Op.ONE_OF, (of, *items), BOOLEAN, location)
    if len(items) > _MOST_COMPARISONS:
        return Opaque(
            BOOLEAN, f"`in` of {len(items)} values that are not constants of type {of.shape}", location
        )
    lifted: Expr = FALSE
    for item in reversed(items):
        equal = compare(ast.Eq(), of, item, location)
        lifted = equal if lifted == FALSE else disjunction(equal, lifted)
    return lifted


def _is_none(expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.value is None


def _may_be_nan(expr: Expr) -> bool:
    if isinstance(expr, Constant) and isinstance(expr.value, float):
        return math.isnan(expr.value)
    return expr.shape == FLOAT


def _are_constants(of: Expr, items: Sequence[Expr]) -> bool:
    return all(isinstance(item, Constant) and item.shape == of.shape for item in items)
