"""Functions that divide a collection into several: by a ``Result``, or by class."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen
from returns.result import Result

from flowalg.errors import ElementError, describe
from flowalg.functions import place_of


@frozen
class Successes:
    """What a splitting function gives as ``Success``, as a list of none or one."""

    f: Callable[..., Result[object, object]]

    def __call__(self, element: object) -> list[object]:
        """The successes at an element."""
        return _result(self.f, element).map(lambda value: [value]).value_or([])


@frozen
class Failures:
    """What a splitting function gives as ``Failure``, as a list of none or one."""

    f: Callable[..., Result[object, object]]

    def __call__(self, element: object) -> list[object]:
        """The failures at an element."""
        return _result(self.f, element).swap().map(lambda value: [value]).value_or([])


def _result(f: Callable[..., Result[object, object]], element: object) -> Result[object, object]:
    result = f(element)
    if not isinstance(result, Result):
        raise ElementError(f"split({place_of(f)}) gave {describe(result)}; it must be a Success or a Failure")
    return result


@frozen
class IsA:
    """Whether an element is of a class."""

    kind: type

    def __call__(self, element: object) -> bool:
        """The test."""
        return isinstance(element, self.kind)


__all__ = ["Failures", "IsA", "Successes"]
