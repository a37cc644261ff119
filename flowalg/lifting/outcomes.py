"""The functions of ``collect``, ``split`` and ``try_map``: they make containers, and read those of a class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import GenericAlias
from typing import Final, TypeAlias, get_args, get_origin, get_type_hints

from attrs import frozen
from returns.maybe import Maybe, Some
from returns.result import Failure, Result, Success

from flowalg.data.errors import ElementError, RecordTypeError, describe_function, format_value
from flowalg.data.shapes import TEXT, Field, RecordOf, Shape, result_of, shape_of
from flowalg.elementwise.failed import Failed
from flowalg.lifting.lift import lift_callable
from flowalg.lifting.operations import containers
from flowalg.lifting.operations.conditionals import as_declared
from flowalg.lifting.operations.instances import is_instance
from flowalg.lifting.python.attributes import is_safe
from flowalg.lifting.tree.expressions import Expr, Opaque, first_opaque
from flowalg.lifting.tree.failures import can_fail

ContainerClass: TypeAlias = type[Some[object]] | type[Success[object]] | type[Failure[object]]


@frozen
class _OfClass:
    """A function of containers, of which those of a class are read.

    ``name`` is the method of ``PCollection``, and ``f`` the function that has made the containers, if it had one.
    """

    cls: ContainerClass
    name: str
    f: Callable[..., object] | None

    @property
    def wrapped(self) -> Callable[..., object]:
        """What messages name: the user's function, or the class."""
        return self.cls if self.f is None else self.f

    @property
    def title(self) -> str:
        """What a message says of a container."""
        return (
            f"an element of {self.name}"
            if self.f is None
            else f"the result of {self.name}({describe_function(self.f)})"
        )


@frozen
class Is(_OfClass):
    """The predicate: whether a container is of the class."""

    def __call__(self, value: object) -> bool:
        """Returns whether a container is of the class."""
        if not isinstance(value, Maybe if self.cls is Some else Result):
            valid = "Some(...) or Nothing" if self.cls is Some else "a Success or a Failure"
            raise ElementError(f"{self.title} must be {valid}; got {format_value(value)}")
        return isinstance(value, self.cls)

    def expression_of(self, value: Expr) -> Expr | None:
        """Returns the test of a container's columns."""
        return is_instance(value, (self.cls,), "") if containers.is_container(value.shape) else None


@frozen
class ValueOf(_OfClass):
    """The function that makes a container of the class its value."""

    def __call__(self, value: object) -> object:
        """Returns the value."""
        match value:
            case Some(None):
                raise ElementError(f"{self.title} must not be Some(None); return Nothing, or use map")
            case Some(inner) | Success(inner) | Failure(inner):
                return inner
            case _:
                raise AssertionError(f"no {self.cls.__name__}: {value}")

    def expression_of(self, value: Expr) -> Expr | None:
        """Returns the value of a container whose class is known."""
        known = containers.as_class(value, self.cls)
        return None if known is None else containers.contained(known)


@frozen
class Tried:
    """The function of ``try_map``: a ``Result`` whose failures are ``Failed``. ``result`` is its type if declared."""

    f: Callable[..., Result[object, Exception]]
    result: object = None

    def __call__(self, element: object) -> Result[object, Failed[object]]:
        """Returns the result at an element."""
        result = self.f(element)
        match result:
            case Success():
                return result
            case Failure(BaseException() as error):
                return Failure(Failed(element, type(error).__name__, str(error)))
            case _:
                raise ElementError(
                    f"the result of try_map({describe_function(self.wrapped)}) must be a Success, or a Failure of an "
                    f"exception, as that of a function with @safe is; got {format_value(result)}"
                )

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user's function, which messages name: that which ``@safe`` decorates."""
        return inspect.unwrap(self.f) if is_safe(self.f) else self.f

    def expression_of(self, element: Expr) -> Expr | None:
        """Returns the result: a ``Success`` of what a function with ``@safe`` returns, if that never raises."""
        location = describe_function(self.wrapped)
        value = lift_callable(self.wrapped, (element,)) if is_safe(self.f) else None
        declared = self._declared(value, element.shape)
        if value is None or first_opaque(value) is not None or can_fail(value):
            return Opaque(declared, "the Result of a function that may raise", location)
        made = containers.contain(Success, value, location)
        return made if declared is None else as_declared(made, declared, location)

    def _declared(self, value: Expr | None, element: Shape | None) -> Shape | None:
        """Returns the shape of the result, if it is known."""
        shape = None if value is None else value.shape
        try:
            if self.result is not None:
                shape = shape_of(self.result)
            elif value is None:
                shape = shape_of(_annotated(self.f)[0])
        except RecordTypeError:
            return None
        if shape is None or element is None:
            return None
        return result_of(shape, RecordOf(Failed, (Field("element", element), *_TEXTS)))


_TEXTS: Final = (Field("exception", TEXT), Field("message", TEXT))


def maybe_type(value: object) -> object:
    """Returns ``Maybe[value]``; ``None`` for an unknown type."""
    return None if value is None else GenericAlias(Maybe, (value,))


def result_type(f: Callable[..., object], value: object, error: object) -> object:
    """Returns ``Result[value, error]``, with the types that a function is annotated with where one is unknown."""
    if value is None and error is None:
        return None
    annotated = _annotated(f)
    known = [given or said for given, said in zip((value, error), annotated, strict=True)]
    return None if None in known else GenericAlias(Result, tuple(known))


def _annotated(f: Callable[..., object]) -> tuple[object, object]:
    """Returns the type arguments of a function's annotated ``Result``; ``None`` without one."""
    try:
        hint = get_type_hints(f).get("return")
    except (NameError, TypeError):
        return None, None
    return get_args(hint) if get_origin(hint) is Result and not is_safe(f) else (None, None)
