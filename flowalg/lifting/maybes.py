"""The functions of ``collect``: a ``Maybe`` is an optional in columns, so filtering and mapping at once is both."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, get_args, get_origin, get_type_hints

from attrs import evolve, frozen
from returns.maybe import Maybe, Nothing, Some

from flowalg.data.errors import ElementError, RecordTypeError, describe_function, format_value
from flowalg.data.shapes import OptionalOf, Shape, optional, shape_of
from flowalg.lifting.lift import lift_callable
from flowalg.lifting.operations.comparisons import is_none, unwrap_optional
from flowalg.lifting.operations.conditionals import as_declared, widen
from flowalg.lifting.python.scope import Constructors, Scope
from flowalg.lifting.syntax import lift_expression
from flowalg.lifting.tree.expressions import Constant, Expr, Opaque, negation


def _some(node: ast.Call, scope: Scope) -> Expr:
    """Lifts ``Some(x)``: an optional that is not ``None``."""
    match node:
        case ast.Call(args=[argument], keywords=[]) if not isinstance(argument, ast.Starred):
            of = lift_expression(argument, scope)
        case _:
            return scope.opaque(node, "Some with other than one argument")
    if of.shape is None:
        return of if isinstance(of, Opaque) else scope.opaque(node, "Some(None)")
    if isinstance(of.shape, OptionalOf):
        return scope.opaque(node, "Some of a value that may be None")
    return of if isinstance(of, Opaque) else widen(of, optional(of.shape))


_CONSTRUCTORS: Final[Constructors] = MappingProxyType({Some: _some})


@frozen
class Collected:
    """The value that a function returns as ``Some``; ``None`` for ``Nothing``. ``result`` is its type if declared."""

    f: Callable[..., Maybe[object]]
    result: object = None

    def __call__(self, element: object) -> object:
        """Returns the value at an element, or ``None``."""
        result = self.f(element)
        if not isinstance(result, Maybe):
            raise ElementError(f"{self._title} must be Some(...) or Nothing; got {format_value(result)}")
        value = result.value_or(None)
        if value is None and result is not Nothing:
            raise ElementError(f"{self._title} must not be Some(None); return Nothing, or use map")
        return value

    @property
    def _title(self) -> str:
        return f"the result of collect({describe_function(self.f)})"

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user's function, which messages name."""
        return self.f

    def expression_of(self, element: Expr) -> Expr | None:
        """Returns the value as an optional."""
        declared = self._declared()
        lifted = lift_callable(self.f, (element,), _CONSTRUCTORS)
        if isinstance(lifted, Constant) and lifted.value is None:
            lifted = Opaque(None, "a result that is always Nothing", describe_function(self.f))
        if declared is None:
            return evolve(lifted, shape=None) if isinstance(lifted, Opaque) else lifted
        return as_declared(lifted, declared, describe_function(self.f))

    def _declared(self) -> Shape | None:
        """Returns the declared or annotated type of the result, as an optional."""
        try:
            if self.result is not None:
                return optional(shape_of(self.result))
            hint = get_type_hints(self.f).get("return")
            return optional(shape_of(get_args(hint)[0])) if get_origin(hint) is Maybe else None
        except (NameError, TypeError, IndexError, RecordTypeError):
            return None


@frozen
class IsPresent:
    """The predicate of ``collect``: whether there is a value."""

    f: Callable[..., object]

    def __call__(self, value: object) -> bool:
        """Returns whether there is a value."""
        return value is not None

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user's function, which messages name."""
        return self.f

    def expression_of(self, value: Expr) -> Expr | None:
        """Returns the test of an optional."""
        return negation(is_none(value, ""), "") if value.shape is not None else None


@frozen
class Present:
    """The function of ``collect`` that makes an optional, which is not ``None``, its value."""

    f: Callable[..., object]

    def __call__(self, value: object) -> object:
        """Returns the value."""
        return value

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user's function, which messages name."""
        return self.f

    def expression_of(self, value: Expr) -> Expr | None:
        """Returns the value of an optional."""
        return unwrap_optional(value, "")
