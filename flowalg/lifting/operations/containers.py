"""``Maybe`` and ``Result`` of ``returns``: their values, tests of which they are, and their methods.

``Success`` and ``Failure`` are records of one value here, and a ``Maybe`` is a column that is null for ``Nothing``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final, TypeAlias

from attrs import frozen
from returns.maybe import Maybe, Nothing, Some
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

from flowalg.data.shapes import (
    MaybeOf,
    Nullable,
    OptionalOf,
    RecordOf,
    Shape,
    SumOf,
    class_of,
    container_of,
)
from flowalg.lifting.operations.comparisons import is_none, is_nothing, unwrap_optional
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.instances import is_instance
from flowalg.lifting.operations.sums import parts_of
from flowalg.lifting.tree.expressions import As, Build, Choice, Constant, Expr, Opaque


@frozen
class Argument:
    """The argument of a method: as a value, and as a function of some values."""

    value: Callable[[], Expr]
    call: Callable[[tuple[Expr, ...]], Expr]


_Method: TypeAlias = Callable[[Expr, Argument, str], Expr]
"""What a method returns for a container whose class is known."""


def is_container(shape: Shape | None) -> bool:
    """Returns whether values of a shape are ``Maybe`` or ``Result``."""
    match shape:
        case MaybeOf():
            return True
        case RecordOf(cls=cls):
            return cls in (Success, Failure)
        case SumOf(members=members):
            return all(class_of(member.shape) in (Success, Failure) for member in members)
        case _:
            return False


def contain(cls: type, value: Expr, location: str) -> Expr:
    """Lifts ``Some(value)``, ``Success(value)`` or ``Failure(value)``."""
    if value.shape is None or (cls is Some and isinstance(value.shape, Nullable)):
        if isinstance(value, Opaque):
            return value
        return Opaque(None, f"{cls.__name__} of a value that may be missing", location)
    return As(value, MaybeOf(value.shape)) if cls is Some else Build(container_of(cls, value.shape), (value,))


def is_some(of: Expr) -> bool:
    """Returns whether a ``Maybe`` is known to be ``Some``."""
    return isinstance(of, As) and isinstance(of.shape, MaybeOf) and of.of.shape == of.shape.of


def contained(of: Expr) -> Expr:
    """Returns the value of what is known to be a ``Some``, a ``Success`` or a ``Failure``."""
    if isinstance(of, As) and is_some(of):
        return of.of
    [value] = parts_of(of)
    return value


def from_optional(of: Expr, location: str) -> Expr:
    """Lifts ``Maybe.from_optional(of)``."""
    if isinstance(of, Constant) and of.value is None:
        return Constant(Nothing, None)
    if not isinstance(of.shape, OptionalOf):
        return contain(Some, of, location)
    return As(of, MaybeOf(of.shape.of))


def as_some(of: Expr) -> Expr:
    """Returns a ``Maybe`` that is not ``Nothing`` as what is known to be a ``Some``."""
    assert isinstance(of.shape, MaybeOf), "a Maybe"
    return of if is_some(of) else As(As(of, of.shape.of), of.shape)


def as_class(of: Expr, cls: type) -> Expr | None:
    """Returns a container of which a test shows that it is of a class; ``None`` if it has no columns."""
    match of.shape:
        case MaybeOf() if cls is Some:
            return as_some(of)
        case SumOf() if is_container(of.shape):
            return unwrap_optional(_part(of, cls), "")
        case RecordOf(cls=own) if own is cls:
            return of
        case _:
            return None


def _part(of: Expr, cls: type) -> Expr:
    """Returns the part of a ``Result`` that is of a class, as an optional."""
    assert isinstance(of.shape, SumOf), "a Result"
    classes = [class_of(member.shape) for member in of.shape.members]
    return parts_of(of)[classes.index(cls)]


def _itself(of: Expr, _argument: Argument, _location: str) -> Expr:
    return of


def _value(of: Expr, _argument: Argument, _location: str) -> Expr:
    return contained(of)


def _default(_of: Expr, argument: Argument, _location: str) -> Expr:
    return argument.value()


def _bound(of: Expr, argument: Argument, location: str) -> Expr:
    result = argument.call((contained(of),))
    if isinstance(result, Opaque) or is_container(result.shape) or is_constant_nothing(result):
        return result
    return Opaque(None, f"bind with a result of type {result.shape}", location)


def _mapped(of: Expr, argument: Argument, location: str) -> Expr:
    return contain(_class_of(of), argument.call((contained(of),)), location)


def _bound_optional(of: Expr, argument: Argument, location: str) -> Expr:
    return from_optional(argument.call((contained(of),)), location)


def _swapped(of: Expr, _argument: Argument, location: str) -> Expr:
    return contain(Failure if _class_of(of) is Success else Success, contained(of), location)


def _class_of(of: Expr) -> type:
    """Returns the class of a container, where it is known."""
    if is_some(of):
        return Some
    return _EMPTY if of.shape is None else class_of(of.shape)


def is_constant_nothing(of: Expr) -> bool:
    """Returns whether an expression is ``Nothing``."""
    return isinstance(of, Constant) and of.value is Nothing


_FROM_OPTIONAL: Final[object] = vars(Maybe)["from_optional"]
_CONSTRUCTORS: Final[Mapping[object, type]] = {
    Some: Some,
    Success: Success,
    Failure: Failure,
    vars(Maybe)["from_value"]: Some,
    vars(Result)["from_value"]: Success,
    vars(Result)["from_failure"]: Failure,
}

_MOST_LEAVES: Final = 8
"""A conditional with more results is one value, so that a chain of methods does not multiply them."""


def _leaves(of: Expr) -> int:
    return _leaves(of.then) + _leaves(of.otherwise) if isinstance(of, Choice) else 1


_EMPTY: Final = type(Nothing)

_METHODS: Final[Mapping[str, Mapping[type, _Method]]] = {
    "map": {Some: _mapped, _EMPTY: _itself, Success: _mapped, Failure: _itself},
    "bind": {Some: _bound, _EMPTY: _itself, Success: _bound, Failure: _itself},
    "bind_optional": {Some: _bound_optional, _EMPTY: _itself},
    "lash": {
        Some: _itself,
        _EMPTY: lambda _, argument, _location: argument.call((Constant(None, None),)),
        Success: _itself,
        Failure: _bound,
    },
    "alt": {Success: _itself, Failure: _mapped},
    "value_or": {Some: _value, _EMPTY: _default, Success: _value, Failure: _default},
    "or_else_call": {Some: _value, _EMPTY: lambda _, argument, _location: argument.call(())},
    "swap": {Success: _swapped, Failure: _swapped},
    "unwrap": {Some: _value, Success: _value},
    "failure": {Failure: _value},
}
"""What the methods return, by the class of the container; other methods are left to Python."""


def lift_call(target: object, argument: Expr, location: str) -> Expr | None:
    """Lifts a call of a constructor of a container or of ``is_successful``; ``None`` for another function."""
    if isinstance(target, Hashable) and target in _CONSTRUCTORS:
        return contain(_CONSTRUCTORS[target], argument, location)
    if target is _FROM_OPTIONAL:
        return from_optional(argument, location)
    if target is is_successful and is_container(argument.shape):
        return is_instance(argument, (Some, Success), location)
    return None


def lift_method(name: str, of: Expr, argument: Argument, location: str) -> Expr:
    """Lifts a method of a container; ``argument`` is its first argument.

    That of a conditional is a conditional of both results: so ``Some(x).map(f).value_or(y)`` makes no ``Maybe``.
    """
    if name not in _METHODS:
        return Opaque(None, f"the method {name} of {of.shape}", location)

    def of_class(one: Expr) -> Expr:
        method = _METHODS[name].get(_class_of(one))
        if method is None:
            kind = _class_of(one).__name__.lstrip("_")
            return Opaque(None, f"the method {name} of what may be {kind}", location)
        return method(one, argument, location)

    if isinstance(of, Choice) and _leaves(of) <= _MOST_LEAVES:
        sides = [lift_method(name, side, argument, location) for side in (of.then, of.otherwise)]
        return choose(of.condition, sides[0], sides[1], location)
    match of.shape:
        case MaybeOf():
            missing = is_nothing(of, location)
            return (
                Opaque(None, missing.reason, missing.location)
                if isinstance(missing, Opaque)
                else choose(missing, of_class(Constant(Nothing, None)), of_class(as_some(of)), location)
            )
        case SumOf():
            success, failure = _part(of, Success), _part(of, Failure)
            results = [of_class(unwrap_optional(part, location)) for part in (failure, success)]
            return choose(is_none(success, location), results[0], results[1], location)
        case _:
            return of_class(of)
