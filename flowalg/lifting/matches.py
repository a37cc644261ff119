"""``match`` statements: each case is a test of the subject, and names that are bound to parts of it.

Patterns are classes, with patterns of their fields, constants, ``None``, alternatives, names and ``_``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import evolve

from flowalg.data.errors import UserFunctionError
from flowalg.data.shapes import OptionalOf, SumOf
from flowalg.lifting.operations.comparisons import compare, is_none, unwrap_optional
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.instances import has_plain_instances, is_instance, members_left
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.syntax import lift_condition, lift_expression
from flowalg.lifting.tree.expressions import FALSE, TRUE, Expr, Opaque, conjunction, disjunction
from flowalg.lifting.tree.failures import can_fail

Block: TypeAlias = Callable[[Sequence[ast.stmt], Scope], Expr]
"""Lifts a body."""

Names: TypeAlias = Mapping[str, Expr]

_SUBJECT = "the subject of match"
"""The variable of a subject, which no function can name."""


def lift_match(node: ast.Match, rest: Sequence[ast.stmt], scope: Scope, lift_block: Block) -> Expr:
    """Lifts a ``match`` statement and the statements after it.

    Raises ``UserFunctionError`` if no case handles a member of a sum, so that the function would return ``None``.
    """
    subject = lift_expression(node.subject, scope)
    if subject.shape is None or can_fail(subject):
        return subject if isinstance(subject, Opaque) else scope.opaque(node, "a `match` of what may fail")
    return _lift_cases(node, node.cases, rest, scope.with_variable(_SUBJECT, subject), lift_block)


def _lift_cases(
    node: ast.Match,
    cases: Sequence[ast.match_case],
    rest: Sequence[ast.stmt],
    scope: Scope,
    lift_block: Block,
) -> Expr:
    if not cases:
        _require_no_member(node, rest, scope)
        return lift_block(rest, scope)
    case, *others = cases
    matched = _match(case.pattern, _subject(node, scope), scope)
    if matched is None:
        return scope.opaque(node, f"the pattern {ast.unparse(case.pattern)}")
    tested, names = matched
    if tested == FALSE:
        return _lift_cases(node, others, rest, scope, lift_block)
    inside = evolve(scope.assuming(tested, True), names={**scope.names, **names})
    if case.guard is not None:
        tested = _both(tested, lift_condition(case.guard, inside))
        inside = inside.assuming(tested, True)
    then = lift_block([*case.body, *rest], inside)
    if tested == TRUE:
        return then
    otherwise = _lift_cases(node, others, rest, scope.assuming(tested, False), lift_block)
    return choose(tested, then, otherwise, scope.location(node))


def _subject(node: ast.Match, scope: Scope) -> Expr:
    """Returns the subject, as one of the members that it can be of here."""
    return lift_expression(ast.copy_location(ast.Name(_SUBJECT, ast.Load()), node.subject), scope)


def _require_no_member(node: ast.Match, rest: Sequence[ast.stmt], scope: Scope) -> None:
    """Raises ``UserFunctionError`` if a function ends although a value of a sum matches no case."""
    subject, location = scope.names[_SUBJECT], scope.location(node)
    whole = unwrap_optional(subject, location)
    if rest or not isinstance(whole.shape, SumOf):
        return
    members = () if subject in scope.absent else members_left(whole, scope)
    left = [str(part.shape.of) for part in reversed(members) if isinstance(part.shape, OptionalOf)]
    if whole is not subject and subject not in scope.present:
        left.append("None")
    if left:
        raise UserFunctionError(
            f"{location}: match of {subject.shape} has no case for {' and '.join(left)}; add one, or `case _:`"
        )


def _both(first: Expr, second: Expr) -> Expr:
    return second if first == TRUE else first if second == TRUE else conjunction(first, second)


def _match(pattern: ast.pattern, of: Expr, scope: Scope) -> tuple[Expr, Names] | None:
    """Returns whether a value matches a pattern, and the names that it binds; ``None`` for another pattern."""
    location = scope.where
    match pattern:
        case ast.MatchAs(pattern=None, name=name):
            return TRUE, {} if name is None else {name: of}
        case ast.MatchAs(pattern=ast.pattern() as inner, name=str() as name):
            matched = _match(inner, of, scope)
            if matched is None:
                return None
            tested, names = matched
            return tested, {**names, name: _known(of, scope.assuming(tested, True))}
        case ast.MatchSingleton(value=None):
            return is_none(of, location), {}
        case ast.MatchValue(value=value):
            return compare(ast.Eq(), of, lift_expression(value, scope), location), {}
        case ast.MatchOr(patterns=patterns) if all(map(_is_bare, patterns)):
            classes = [scope.resolve(bare.cls) for bare in patterns if isinstance(bare, ast.MatchClass)]
            plain = tuple(filter(has_plain_instances, classes))
            is_any = is_instance(of, plain, location, scope.absent) if len(plain) == len(classes) else None
            return None if is_any is None else (is_any, {})
        case ast.MatchOr(patterns=patterns):
            several = [_match(alternative, of, scope) for alternative in patterns]
            tests = [matched[0] for matched in several if matched is not None and not matched[1]]
            if len(tests) < len(patterns):
                return None
            tested = tests[-1]
            for test in reversed(tests[:-1]):
                tested = disjunction(test, tested)
            return tested, {}
        case ast.MatchClass():
            return _match_class(pattern, of, scope)
        case _:
            return None


def _is_bare(pattern: ast.pattern) -> bool:
    """Returns whether a pattern is a class without patterns of its fields."""
    return isinstance(pattern, ast.MatchClass) and not pattern.patterns and not pattern.kwd_patterns


def _match_class(pattern: ast.MatchClass, of: Expr, scope: Scope) -> tuple[Expr, Names] | None:
    cls = scope.resolve(pattern.cls)
    tested = is_instance(of, (cls,), scope.where, scope.absent) if has_plain_instances(cls) else None
    if tested is None or not isinstance(cls, type):
        return None
    if tested == FALSE:
        return FALSE, {}
    fields: object = getattr(cls, "__match_args__", ())
    if not isinstance(fields, tuple) or len(pattern.patterns) > len(fields):
        return None
    inside = scope.assuming(tested, True)
    known = inside.with_variable(_SUBJECT, _known(of, inside))
    names: dict[str, Expr] = {}
    parts = [
        *zip(fields, pattern.patterns, strict=False),
        *zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True),
    ]
    for name, part in parts:
        read = ast.Attribute(ast.Name(_SUBJECT, ast.Load()), name, ast.Load())
        placed = ast.fix_missing_locations(ast.copy_location(read, pattern.cls))
        matched = _match(part, lift_expression(placed, known), known)
        if matched is None:
            return None
        tested = _both(tested, matched[0])
        names |= matched[1]
    return tested, names


def _known(of: Expr, scope: Scope) -> Expr:
    """Returns a value with the shape that it is known to have in a scope."""
    named = scope.with_variable(_SUBJECT, of)
    return lift_expression(ast.Name(_SUBJECT, ast.Load(), lineno=1, col_offset=0), named)
