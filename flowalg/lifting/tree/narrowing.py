"""What a condition tells about optionals: after ``e.m is not None``, ``e.m`` has a value."""

from __future__ import annotations

from flowalg.lifting.tree.expressions import Apply, Choice, Constant, Expr
from flowalg.lifting.tree.primitives import Op


def known_present(condition: Expr, outcome: bool) -> frozenset[Expr]:
    """The expressions that are surely not ``None`` when the condition has come out so.

    Expressions are pure, so what held when the condition was evaluated still holds.
    """
    match condition:
        case Apply(op=Op.IS_NONE, args=(of,)):
            return frozenset() if outcome else frozenset({of})
        case Apply(op=Op.NOT, args=(of,)):
            return known_present(of, not outcome)
        case Choice(condition=test, then=then, otherwise=otherwise):
            ways = [
                known_present(test, went) | known_present(side, outcome)
                for went, side in ((True, then), (False, otherwise))
                if not (isinstance(side, Constant) and side.value is not outcome)
            ]
            return frozenset.intersection(*ways) if ways else frozenset()
        case _:
            return frozenset()


__all__ = ["known_present"]
