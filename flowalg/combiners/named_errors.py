"""The errors of combiners that users write as classes: named as those of functions are (SEMANTICS section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_
from typing import TypeVar

from attrs import evolve, frozen

from flowalg.combiners.core import AnyCombiner, Combiner, Group, Into, Over, Together
from flowalg.data.closed import is_of_library
from flowalg.elementwise.functions import user_function_error

A = TypeVar("A")


def with_named_errors(combiner: AnyCombiner) -> AnyCombiner:
    """Returns a combiner with the same results, whose errors name the method that raised, and its argument.

    Only a class of a user needs it: the combiners of this library raise errors of flowalg. A combiner that has no class
    of a user in it is returned itself, with what it has cached.
    """
    match combiner:
        case Over(combiner=inner) | Into(combiner=inner):
            named = with_named_errors(inner)
            return combiner if named is inner else evolve(combiner, combiner=named)
        case Together(parts=parts):
            named_parts = tuple(map(with_named_errors, parts))
            return combiner if all(map(is_, named_parts, parts)) else evolve(combiner, parts=named_parts)
        case _ if is_of_library(type(combiner)):
            return combiner
        case Group():
            return _NamedGroup(combiner)
        case _:
            return _Named(combiner)


@frozen
class _Named(Combiner[object, object, object]):
    combiner: AnyCombiner

    @property
    def is_ordered(self) -> bool:
        return self.combiner.is_ordered

    @property
    def has_empty_result(self) -> bool:
        return self.combiner.has_empty_result

    @property
    def title(self) -> str:
        return self.combiner.title

    def zero(self) -> object:
        return self._call(self.combiner.zero)

    def add(self, accumulator: object, value: object) -> object:
        return self._call(self.combiner.add, accumulator, value)

    def merge(self, left: object, right: object) -> object:
        return self._call(self.combiner.merge, left, right)

    def extract(self, accumulator: object) -> object:
        return self._call(self.combiner.extract, accumulator)

    def discard(self, accumulator: object) -> object:
        return self._call(self.combiner.discard, accumulator)

    def add_timed(self, accumulator: object, timed: Iterable[tuple[int, object]]) -> object:
        if type(self.combiner).add_timed is Combiner.add_timed:
            return super().add_timed(accumulator, timed)
        return self._call(self.combiner.add_timed, accumulator, list(timed))

    def _call(self, method: Callable[..., A], *arguments: object) -> A:
        """Returns the result of a method. An error names its last argument, which ``add`` calls the value."""
        try:
            return method(*arguments)
        except Exception as cause:
            named = f"{self.title}.{method.__name__}"
            raise user_function_error(named, method, arguments[-1] if arguments else (), cause) from cause


@frozen
class _NamedGroup(_Named, Group[object, object, object]):
    combiner: Group[object, object, object]

    @property
    def is_signed(self) -> bool:  # type: ignore[override]  # the class of the user has it
        return self.combiner.is_signed

    def subtract(self, accumulator: object, value: object) -> object:
        return self._call(self.combiner.subtract, accumulator, value)
