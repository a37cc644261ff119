"""Tests by ``isinstance``, and the members of a sum that they leave."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Sequence
from functools import reduce
from types import NoneType
from typing import Final, TypeGuard

from returns.maybe import Maybe, Nothing, Some

from flowalg.data.record_classes import record_class
from flowalg.data.shapes import BOOLEAN, MaybeOf, OptionalOf, RecordOf, SumOf, required
from flowalg.lifting.operations.comparisons import is_none, is_nothing, unwrap_optional
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.sums import common_sum, parts_of
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    As,
    Build,
    Choice,
    Expr,
    Opaque,
    disjunction,
    negation,
)
from flowalg.lifting.tree.failures import can_fail

_PLAIN_CHECKS: Final = (type.__instancecheck__, ABCMeta.__instancecheck__)


def has_plain_instances(cls: object) -> TypeGuard[type]:
    """Returns whether an argument is a class of which a value is an instance if its class is a subclass."""
    return isinstance(cls, type) and (
        type(cls).__instancecheck__ in _PLAIN_CHECKS or record_class(cls) is not None
    )


def is_instance(
    of: Expr, classes: tuple[type, ...], location: str, absent: frozenset[Expr] = frozenset()
) -> Expr | None:
    """Lifts ``isinstance(of, classes)`` of a record or a value of a sum; ``None`` for another value.

    ``absent`` has optionals that are ``None`` here.
    """
    if not isinstance(required(of.shape) if of.shape is not None else None, RecordOf | SumOf | MaybeOf):
        return None
    if can_fail(of):
        return Opaque(BOOLEAN, "isinstance of a value that may fail", location)
    match of.shape:
        case OptionalOf():
            missing = is_none(of, location)
            inside = is_instance(unwrap_optional(of, location), classes, location, absent)
            assert inside is not None, "a record or a value of a sum"
            return Choice(missing, TRUE if NoneType in classes else FALSE, inside, BOOLEAN)
        case MaybeOf():
            if issubclass(Maybe, classes):
                return TRUE
            missing = is_nothing(of, location)
            is_some, is_empty = issubclass(Some, classes), issubclass(type(Nothing), classes)
            return (missing if is_empty else FALSE) if not is_some else negation(missing, location)
        case SumOf() as whole:
            chosen = {number for cls in classes for number in whole.instances_of(cls)}
            possible = [(number, part) for number, part in enumerate(parts_of(of)) if part not in absent]
            tests = [
                negation(is_none(part, location), location) for number, part in possible if number in chosen
            ]
            return TRUE if len(tests) == len(possible) else reduce(disjunction, tests) if tests else FALSE
        case shape:
            assert isinstance(shape, RecordOf), "a record"
            return TRUE if issubclass(shape.cls, classes) else FALSE


def members_left(of: Expr, scope: Scope) -> tuple[Expr, ...]:
    """Returns the members that a value of a sum may be of in a scope, as optionals."""
    parts = parts_of(of)
    present = tuple(part for part in parts if part in scope.present or isinstance(part, As))
    return present or tuple(part for part in parts if part not in scope.absent)


def narrowed(of: Expr, scope: Scope, location: str) -> Expr:
    """Returns a value of a sum as one of the members that it can be of, where tests leave some."""
    if not isinstance(of.shape, SumOf):
        return of
    left = members_left(of, scope)
    return of if len(left) in (0, len(of.shape.members)) else as_members(left, location)


def as_members(parts: Sequence[Expr], location: str) -> Expr:
    """Returns a value of a sum, given as some of its members, as a value of these."""
    if len(parts) == 1:
        return unwrap_optional(parts[0], location)
    whole = common_sum(*(required(part.shape) for part in parts if part.shape is not None))
    assert isinstance(whole, SumOf), "several members"
    return Build(whole, tuple(parts))


def of_each_member(of: Expr, function: Callable[[Expr], Expr], scope: Scope, location: str) -> Expr:
    """Returns what a function computes of a value of a sum: of each member that it may be of."""
    first, *others = members_left(of, scope) or parts_of(of)
    result = function(unwrap_optional(first, location))
    for part in others:
        result = choose(is_none(part, location), result, function(unwrap_optional(part, location)), location)
    return result
