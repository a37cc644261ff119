"""Values of sums: their members as optionals, and a value of a member as a value of the sum."""

from __future__ import annotations

from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import OptionalOf, Shape, SumOf, sum_of
from flowalg.lifting.tree.expressions import As, Build, Constant, Expr, Part


def common_sum(*several: Shape) -> Shape | None:
    """Returns the sum of shapes; ``None`` if they have none."""
    try:
        return sum_of(several)
    except RecordTypeError:
        return None


def inject(expr: Expr, whole: SumOf) -> Expr | None:
    """Returns a value of a member, or of a sum of some members, as one of a sum; ``None`` for another value."""
    own = {part.shape: part for part in parts_of_sum(expr)} if isinstance(expr.shape, SumOf) else {}
    if not own and expr.shape is not None:
        own = {OptionalOf(expr.shape): As(expr, OptionalOf(expr.shape))}
    optional = [OptionalOf(member.shape) for member in whole.members]
    if not own or not own.keys() <= set(optional):
        return None
    return Build(whole, tuple(own.get(shape, Constant(None, shape)) for shape in optional))


def parts_of_sum(of: Expr) -> tuple[Expr, ...]:
    """Returns the members of a value of a sum, as optionals of which one is not ``None``."""
    assert isinstance(of.shape, SumOf), "a value of a sum"
    if isinstance(of, Build):
        return of.parts
    members = enumerate(of.shape.members)
    return tuple(Part(of, number, member.name, OptionalOf(member.shape)) for number, member in members)
