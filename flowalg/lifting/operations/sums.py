"""Values of sums: their members as optionals, and a value of a member as a value of the sum."""

from __future__ import annotations

from collections.abc import Sequence

from returns.maybe import Nothing

from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import (
    BOOLEAN,
    MaybeOf,
    Nullable,
    OptionalOf,
    RecordOf,
    Shape,
    SumOf,
    TupleOf,
    class_of,
    inner_shapes,
    required,
    sum_of,
)
from flowalg.lifting.tree.expressions import Apply, As, Build, Choice, Constant, Expr, Part, items_of
from flowalg.lifting.tree.primitives import Op


def common_sum(*several: Shape) -> Shape | None:
    """Returns the sum of shapes; ``None`` if they have none."""
    try:
        return sum_of(several)
    except RecordTypeError:
        return None


def inject(expr: Expr, shape: Shape) -> Expr | None:
    """Returns an expression with a shape that includes its own; ``None`` if columns cannot change to it.

    Values of a member, or of a sum of some members, become those of a sum; so do the parts of records and tuples.
    """
    own = expr.shape
    match shape:
        case _ if own == shape:
            return expr
        case OptionalOf():
            return _inject_optional(expr, shape)
        case MaybeOf():
            return _inject_maybe(expr, shape)
        case SumOf(members=members):
            parts = parts_of(expr) if isinstance(own, SumOf) else (expr,)
            return _build(shape, [_member(parts, OptionalOf(member.shape)) for member in members], len(parts))
        case RecordOf() | TupleOf() if isinstance(own, RecordOf | TupleOf) and class_of(own) == class_of(
            shape
        ):
            wanted = inner_shapes(shape)
            if len(wanted) != len(inner_shapes(own)):
                return None
            each = [inject(part, of) for part, of in zip(parts_of(expr), wanted, strict=True)]
            injected = tuple(part for part in each if part is not None)
            return Build(shape, injected) if len(injected) == len(each) else None
        case _:
            return None


def _inject_optional(expr: Expr, shape: OptionalOf) -> Expr | None:
    if isinstance(expr, Constant) and expr.value is None:
        return Constant(None, shape)
    if isinstance(expr.shape, OptionalOf):
        return _inject_present(expr, expr.shape, shape)
    injected = inject(expr, shape.of)
    return None if injected is None else As(injected, shape)


def _inject_maybe(expr: Expr, shape: MaybeOf) -> Expr | None:
    if isinstance(expr, Constant) and expr.value is Nothing:
        return Constant(None, shape)
    return _inject_present(expr, expr.shape, shape) if isinstance(expr.shape, MaybeOf) else None


def _inject_present(expr: Expr, own: Nullable, shape: OptionalOf | MaybeOf) -> Expr | None:
    """Returns an expression whose values may be missing with another shape of them; missing values stay missing."""
    injected = inject(As(expr, own.of), shape.of)
    missing = Apply(Op.IS_NONE, (expr,), BOOLEAN, "")
    return None if injected is None else Choice(missing, Constant(None, shape), As(injected, shape), shape)


def _member(parts: Sequence[Expr], shape: OptionalOf) -> Expr | None:
    """Returns the part that is a value of a member, as an optional; ``None`` if there is none."""
    for part in parts:
        if part.shape is not None and class_of(required(part.shape)) == class_of(shape.of):
            return inject(part, shape)
    return None


def _build(whole: SumOf, parts: Sequence[Expr | None], needed: int) -> Expr | None:
    """Returns a value of a sum from those of its members that it may be of; ``None`` if some are not members."""
    if sum(part is not None for part in parts) < needed:
        return None
    members = zip(whole.members, parts, strict=True)
    return Build(whole, tuple(part or Constant(None, OptionalOf(member.shape)) for member, part in members))


def parts_of(of: Expr) -> tuple[Expr, ...]:
    """Returns the parts of a value: of a sum, its members as optionals of which one is not ``None``."""
    if isinstance(of, Build):
        return of.parts
    match of.shape:
        case TupleOf():
            return items_of(of)
        case RecordOf(fields=fields):
            return tuple(Part(of, number, part.name, part.shape) for number, part in enumerate(fields))
        case SumOf(members=members):
            optionals = (OptionalOf(member.shape) for member in members)
            return tuple(
                Part(of, number, member.name, shape)
                for number, (member, shape) in enumerate(zip(members, optionals, strict=True))
            )
        case _:
            raise AssertionError(f"a value without parts: {of.shape}")
