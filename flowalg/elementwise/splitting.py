"""Functions that split a collection in two, by a ``Result``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args, get_origin, get_type_hints

from attrs import frozen
from returns.result import Result

from flowalg.data.errors import ElementError, RecordTypeError, describe_function, format_value
from flowalg.data.shapes import Shape, shape_of


@frozen
class Outcomes:
    """What a function that returns a ``Result`` yields: a list of successes and a list of failures, one item in all."""

    f: Callable[..., Result[object, object]]

    def __call__(self, element: object) -> tuple[list[object], list[object]]:
        """Returns the outcomes at an element."""
        result = _result(self.f, element)
        successes: list[object] = result.map(lambda value: [value]).value_or([])
        failures: list[object] = result.swap().map(lambda value: [value]).value_or([])
        return successes, failures

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user's function, which messages name."""
        return self.f


@frozen
class Selected:
    """One of the two lists of ``Outcomes``: the successes (0) or the failures (1)."""

    f: Callable[..., Result[object, object]]
    number: Literal[0, 1]

    def __call__(self, outcomes: tuple[list[object], list[object]]) -> list[object]:
        """Returns the list."""
        return outcomes[self.number]

    @property
    def inlined(self) -> SelectedAt:
        """The same list, computed from an element."""
        return SelectedAt(self.f, self.number)

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user's function, which messages name."""
        return self.f


@frozen
class SelectedAt:
    """One of the two lists of outcomes at an element: for engines that cannot share outcomes between collections."""

    f: Callable[..., Result[object, object]]
    number: Literal[0, 1]

    def __call__(self, element: object) -> list[object]:
        """Returns the list."""
        return Outcomes(self.f)(element)[self.number]

    @property
    def wrapped(self) -> Callable[..., object]:
        """The user's function, which messages name."""
        return self.f

    def shape_of_items(self, element: Shape) -> Shape | None:
        """Returns the shape of an item, where the function is annotated with it."""
        return _annotated(self.f, self.number)


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
