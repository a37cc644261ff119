"""Functions that split a collection in two, by a ``Result`` or by class."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args, get_origin, get_type_hints

from attrs import frozen
from returns.result import Result

from flowalg.data.errors import ElementError, RecordTypeError, format_value
from flowalg.data.shapes import Shape, shape_of
from flowalg.elementwise.functions import describe_function


@frozen
class Successes:
    """The success of a splitting function, as a list of at most one item."""

    f: Callable[..., Result[object, object]]

    def __call__(self, element: object) -> list[object]:
        """Returns the success for an element, or an empty list."""
        return _result(self.f, element).map(lambda value: [value]).value_or([])

    @property
    def wrapped(self) -> Callable[..., object]:
        """The splitting function, which messages name in place of this object."""
        return self.f

    def shape_of_items(self, element: Shape) -> Shape | None:
        """Returns the shape of a success if the annotations of the function state it."""
        return _annotated(self.f, 0)


@frozen
class Failures:
    """The failure of a splitting function, as a list of at most one item."""

    f: Callable[..., Result[object, object]]

    def __call__(self, element: object) -> list[object]:
        """Returns the failure for an element, or an empty list."""
        return _result(self.f, element).swap().map(lambda value: [value]).value_or([])

    @property
    def wrapped(self) -> Callable[..., object]:
        """The splitting function, which messages name in place of this object."""
        return self.f

    def shape_of_items(self, element: Shape) -> Shape | None:
        """Returns the shape of a failure if the annotations of the function state it."""
        return _annotated(self.f, 1)


def _annotated(f: Callable[..., object], number: int) -> Shape | None:
    """Returns the shape of the type argument ``number`` of a function's annotated ``Result``."""
    try:
        hint = get_type_hints(f).get("return")
        return shape_of(get_args(hint)[number]) if get_origin(hint) is Result else None
    except (NameError, TypeError, RecordTypeError):
        return None


def _result(f: Callable[..., Result[object, object]], element: object) -> Result[object, object]:
    result = f(element)
    if not isinstance(result, Result):
        raise ElementError(
            f"the result of split({describe_function(f)}) must be a Success or a Failure; got {format_value(result)}"
        )
    return result


@frozen
class IsA:
    """A predicate: whether an element is an instance of a class."""

    kind: type

    def __call__(self, element: object) -> bool:
        """Whether the element is an instance of the class."""
        return isinstance(element, self.kind)


__all__ = ["Failures", "IsA", "Successes"]
