"""The expression that a user function computes from its element."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

from attrs import evolve

from flowalg.data.errors import describe_function
from flowalg.elementwise.functions import Call
from flowalg.lifting.builtin_calls import lift_builtin_call, result_shape
from flowalg.lifting.functions import lift_function
from flowalg.lifting.operations import records
from flowalg.lifting.operations.conditionals import as_declared
from flowalg.lifting.python.captured_values import without_partial
from flowalg.lifting.python.scope import NO_CONSTRUCTORS, Constructors
from flowalg.lifting.syntax import annotated_shape
from flowalg.lifting.tree.expressions import Constant, Expr, Opaque


def lift(call: Call, arguments: tuple[Expr, ...]) -> Expr:
    """Returns the expression that a call computes from its arguments, opaque where only Python can compute it."""
    result = call.declared_shape
    lifted = lift_callable(call.f, arguments)
    if isinstance(lifted, Constant) and lifted.shape is None:
        lifted = Opaque(None, "a result that is always None", describe_function(call.f))
    return lifted if result is None else as_declared(lifted, result, describe_function(call.f))


def lift_callable(
    f: Callable[..., object], arguments: tuple[Expr, ...], constructors: Constructors = NO_CONSTRUCTORS
) -> Expr:
    """Returns the expression that a function computes from its arguments; ``constructors`` are those of its scope."""
    location = describe_function(f)
    called = without_partial(f, arguments, {})
    if called is None:
        reason = "an argument of partial that is not an immutable value"
        return Opaque(annotated_shape(f), reason, location)
    target, args, named = called
    if isinstance(target, FunctionType):
        try:
            return lift_function(target, args, named, (), constructors)
        except RecursionError:
            return Opaque(annotated_shape(target), "operations nested too deep to be read", location)
    lifted = lift_builtin_call(target, args, named, location)
    if lifted is not None:
        return lifted
    if isinstance(target, type):
        made = records.construct(target, args, named, location)
        return (
            evolve(made, shape=result_shape(target))
            if isinstance(made, Opaque) and made.shape is None
            else made
        )
    return Opaque(annotated_shape(f), f"{type(f).__name__} has no Python source", location)
