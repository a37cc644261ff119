"""Narrowing of optionals by conditions: where ``e.m is not None`` holds, ``e.m`` has a value."""

from __future__ import annotations

from flowalg.lifting.tree.expressions import Apply, Choice, Constant, Expr
from flowalg.lifting.tree.primitives import Op


def non_null_given(condition: Expr, outcome: bool) -> frozenset[Expr]:
    """Returns the expressions that are certainly not ``None``, and the matches that there are, given the outcome.

    Expressions are pure, so they keep the value that they had when the condition was evaluated.
    """
    match condition:
        case Apply(op=Op.IS_NONE, args=(of,)):
            return frozenset() if outcome else frozenset({of})
        case Apply(op=Op.MATCHES):
            return frozenset({condition}) if outcome else frozenset()
        case Apply(op=Op.NOT, args=(of,)):
            return non_null_given(of, not outcome)
        case Choice(condition=test, then=then, otherwise=otherwise):
            ways = [
                non_null_given(test, went) | non_null_given(side, outcome)
                for went, side in ((True, then), (False, otherwise))
                if not (isinstance(side, Constant) and side.value is not outcome)
            ]
            return frozenset.intersection(*ways) if ways else frozenset()
        case _:
            return frozenset()
