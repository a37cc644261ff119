"""What operations have in common: the method that they call, and the errors for other inputs."""

from __future__ import annotations

from typing import Final, TypeVar, cast

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import Bundle, PTransform, of_any

A = TypeVar("A")
In = TypeVar("In", bound=Bundle)
In2 = TypeVar("In2", bound=Bundle)

_TAKEN: Final = ("options by name", "a function", "a side input and a function")
"""What a method takes by position, by the number of its arguments."""


@frozen
class Method:
    """A method of ``PCollection`` with its arguments after the collection."""

    name: str
    arguments: tuple[object, ...]
    options: tuple[tuple[str, object], ...]

    def __call__(self, collection: PCollection[object], /) -> Bundle:
        """Returns what the method returns for a collection, with its errors."""
        if not isinstance(collection, PCollection):
            raise ArgumentError(f"the input of {self.name}", collection, "a PCollection")
        made: Bundle = getattr(collection, self.name)(*self.arguments, **dict(self.options))
        return made


def transform(name: str, given: tuple[object, ...], *, takes: int = 1, **options: object) -> object:
    """Returns the transform of a method, from its arguments after the type of the elements, if that is given."""
    element, arguments = given[: len(given) - takes], given[len(given) - takes :]
    method = Method(name, arguments, tuple(options.items()))
    match element:
        case () if len(arguments) == takes:
            return of_any(method)
        case (kind,):
            return PTransform.of(cast("type[object]", kind), method)
        case _:
            valid = f"{_TAKEN[takes]}, after the type of the elements if it is given"
            raise ArgumentError(f"the arguments of {name}", given, valid)


def one(operation: object, collection: PCollection[A]) -> PCollection[A]:
    """Returns a collection; raises ``ArgumentError`` for another value, with the name of the operation."""
    if not isinstance(collection, PCollection):
        raise ArgumentError(f"the input of {type(operation).__name__}", collection, "a PCollection")
    return collection


def two(
    operation: object, pair: tuple[In, In2], valid: str = "two collections, (left, right)"
) -> tuple[In, In2]:
    """Returns a pair; raises ``ArgumentError`` for another value, with the name of the operation."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ArgumentError(f"the input of {type(operation).__name__}", pair, valid)
    return pair
