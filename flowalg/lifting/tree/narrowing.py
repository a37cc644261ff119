"""Narrowing of optionals by conditions: where ``e.m is not None`` holds, ``e.m`` has a value."""

from __future__ import annotations

from flowalg.lifting.tree.expressions import Apply, Choice, Constant, Expr
from flowalg.lifting.tree.primitives import Op


def non_null_given(condition: Expr, outcome: bool) -> frozenset[Expr]:
    """Returns the expressions that are certainly not ``None``, and the matches that there are, given the outcome.

    Expressions are pure, so they keep the value that they had when the condition was evaluated.
    """
    return _given(condition, outcome, False)


def null_given(condition: Expr, outcome: bool) -> frozenset[Expr]:
    """Returns the expressions that are certainly ``None``, given the outcome of a condition."""
    return _given(condition, outcome, True)


def _given(condition: Expr, outcome: bool, null: bool) -> frozenset[Expr]:
    match condition:
        case Apply(op=Op.IS_NONE, args=(of,)):
            return frozenset({of}) if outcome is null else frozenset()
        case Apply(op=Op.MATCHES):
            return frozenset({condition}) if outcome and not null else frozenset()
        case Apply(op=Op.NOT, args=(of,)):
            return _given(of, not outcome, null)
        case Choice(condition=test, then=then, otherwise=otherwise):
            ways = [
                _given(test, went, null) | _given(side, outcome, null)
                for went, side in ((True, then), (False, otherwise))
                if not (isinstance(side, Constant) and side.value is not outcome)
            ]
            return frozenset.intersection(*ways) if ways else frozenset()
        case _:
            return frozenset()
