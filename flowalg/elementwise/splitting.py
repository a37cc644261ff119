"""Functions that divide a collection into several: by a ``Result``, or by class."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args, get_origin, get_type_hints

from attrs import frozen
from returns.result import Result

from flowalg.data.errors import ElementError, RecordTypeError, format_value
from flowalg.data.shapes import Shape, shape_of
from flowalg.elementwise.functions import place_of


@frozen
class Successes:
    """What a splitting function gives as ``Success``, as a list of none or one."""

    f: Callable[..., Result[object, object]]

    def __call__(self, element: object) -> list[object]:
        """The successes at an element."""
        return _result(self.f, element).map(lambda value: [value]).value_or([])

    @property
    def stands_for(self) -> Callable[..., object]:
        """The splitting function, which messages name."""
        return self.f

    def shape_of_items(self, element: Shape) -> Shape | None:
        """The shape of a success, where the function is annotated with it."""
        return _annotated(self.f, 0)


@frozen
class Failures:
    """What a splitting function gives as ``Failure``, as a list of none or one."""

    f: Callable[..., Result[object, object]]

    def __call__(self, element: object) -> list[object]:
        """The failures at an element."""
        return _result(self.f, element).swap().map(lambda value: [value]).value_or([])

    @property
    def stands_for(self) -> Callable[..., object]:
        """The splitting function, which messages name."""
        return self.f

    def shape_of_items(self, element: Shape) -> Shape | None:
        """The shape of a failure, where the function is annotated with it."""
        return _annotated(self.f, 1)


def _annotated(f: Callable[..., object], number: int) -> Shape | None:
    """The shape of one of the two types in a function's annotated ``Result``."""
    try:
        hint = get_type_hints(f).get("return")
        return shape_of(get_args(hint)[number]) if get_origin(hint) is Result else None
    except (NameError, TypeError, RecordTypeError):
        return None


def _result(f: Callable[..., Result[object, object]], element: object) -> Result[object, object]:
    result = f(element)
    if not isinstance(result, Result):
        raise ElementError(
            f"split({place_of(f)}) gave {format_value(result)}; it must be a Success or a Failure"
        )
    return result


@frozen
class IsA:
    """Whether an element is of a class."""

    kind: type

    def __call__(self, element: object) -> bool:
        """The test."""
        return isinstance(element, self.kind)


__all__ = ["Failures", "IsA", "Successes"]
