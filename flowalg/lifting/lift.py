"""The expression that a user's function computes from its element."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

from attrs import evolve

from flowalg.data.shapes import Shape, shape_of
from flowalg.elementwise.functions import Call, describe_function
from flowalg.lifting.calls import builtin_call, known_result
from flowalg.lifting.functions import lift_function
from flowalg.lifting.operations import records
from flowalg.lifting.operations.choices import accepts, widened
from flowalg.lifting.syntax import annotated
from flowalg.lifting.tree.expressions import Constant, Expr, Opaque


def lift(call: Call, arguments: tuple[Expr, ...]) -> Expr:
    """The expression that ``call`` computes from the arguments; opaque where only Python can."""
    result = _declared(call)
    lifted = _lift(call.f, arguments)
    if isinstance(lifted, Constant) and lifted.shape is None:
        lifted = Opaque(None, "its result, which is nothing but None", describe_function(call.f))
    if result is None:
        return lifted
    if isinstance(lifted, Opaque):
        return evolve(lifted, shape=result)
    if accepts(result, lifted):
        return widened(lifted, result)
    return Opaque(
        result, f"its result, which is a {lifted.shape} and declared as {result}", describe_function(call.f)
    )


def _declared(call: Call) -> Shape | None:
    if call.result is not None:
        return shape_of(call.result, where=f"the result of {describe_function(call.f)}")
    return None


def _lift(f: Callable[..., object], arguments: tuple[Expr, ...]) -> Expr:
    if isinstance(f, FunctionType):
        return lift_function(f, arguments, {}, ())
    place = describe_function(f)
    lifted = builtin_call(f, arguments, {}, place)
    if lifted is not None:
        return lifted
    if isinstance(f, type):
        made = records.construct(f, arguments, {}, place)
        return (
            evolve(made, shape=known_result(f)) if isinstance(made, Opaque) and made.shape is None else made
        )
    return Opaque(annotated(f), f"{type(f).__name__} objects have no Python source", place)


__all__ = ["lift"]
