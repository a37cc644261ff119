"""Combiners made of plain functions, for what has no class of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast, overload

from attrs import frozen

from flowalg.combiners.core import Aggregate, Combiner, Group
from flowalg.data.errors import ArgumentError, FlowalgError
from flowalg.elementwise.functions import describe_function, user_function_error

A = TypeVar("A")
Acc = TypeVar("Acc")
In = TypeVar("In")
Out = TypeVar("Out")


@frozen
class Functions(Combiner[In, Acc, Out], Generic[In, Acc, Out]):
    """A combiner of plain functions: what ``combiner`` and ``reduce_combiner`` give. Equal by its functions."""

    initial: Acc
    adding: Callable[[Acc, In], Acc]
    merging: Callable[[Acc, Acc], Acc]
    extracting: Callable[[Acc], Out] | None
    name: str

    def zero(self) -> Acc:  # noqa: D102
        return self.initial

    def add(self, accumulator: Acc, value: In) -> Acc:  # noqa: D102
        try:
            return self.adding(accumulator, value)
        except Exception as cause:
            raise self._failed("add", self.adding, value, cause) from cause

    def merge(self, one: Acc, other: Acc) -> Acc:  # noqa: D102
        try:
            return self.merging(one, other)
        except Exception as cause:
            raise self._failed("merge", self.merging, (one, other), cause) from cause

    def extract(self, accumulator: Acc) -> Out:  # noqa: D102
        if self.extracting is None:
            return cast("Out", accumulator)
        try:
            return self.extracting(accumulator)
        except Exception as cause:
            raise self._failed("extract", self.extracting, accumulator, cause) from cause

    def _failed(self, part: str, f: Callable[..., object], given: object, cause: Exception) -> FlowalgError:
        return (
            cause
            if isinstance(cause, FlowalgError)
            else user_function_error(f"{self.name}.{part}", f, given, cause)
        )

    @property
    def title(self) -> str:
        """Its name."""
        return self.name


@frozen
class GroupOfFunctions(Functions[In, Acc, Out], Group[In, Acc, Out]):
    """A combiner of plain functions that can also take a value back."""

    subtracting: Callable[[Acc, In], Acc]

    def subtract(self, accumulator: Acc, value: In) -> Acc:  # noqa: D102
        try:
            return self.subtracting(accumulator, value)
        except Exception as cause:
            raise self._failed("subtract", self.subtracting, value, cause) from cause


@overload
def combiner(
    *,
    zero: Acc,
    add: Callable[[Acc, In], Acc],
    merge: Callable[[Acc, Acc], Acc],
    extract: Callable[[Acc], Out],
    subtract: Callable[[Acc, In], Acc] | None = None,
    name: str | None = None,
) -> Aggregate[In, Out]: ...
@overload
def combiner(
    *,
    zero: Acc,
    add: Callable[[Acc, In], Acc],
    merge: Callable[[Acc, Acc], Acc],
    subtract: Callable[[Acc, In], Acc] | None = None,
    name: str | None = None,
) -> Aggregate[In, Acc]: ...
def combiner(
    *,
    zero: object,
    add: Callable[..., object],
    merge: Callable[..., object],
    extract: Callable[..., object] | None = None,
    subtract: Callable[..., object] | None = None,
    name: str | None = None,
) -> object:
    """A combiner of plain functions on accumulators, which are values: never changed in place.

    ``zero`` is the accumulator of no values, ``add`` takes in one value, ``merge`` joins two accumulators, and
    ``extract`` gives the result, without which it is the accumulator itself. With ``subtract``, which takes a value
    back, it is a ``Group`` and absorbs retractions directly. ``name`` is what labels and messages call it.

    Both type checkers infer lambdas here from the collection and from ``zero``, except that pyright takes a ``zero``
    of ``(0, 0)`` for a tuple of just these numbers: use a record there, or functions with annotations.

    The laws of ``Combiner`` are yours to keep, and ``flowalg_laws.check_combiner`` looks for a counterexample. What
    the functions raise is raised again as ``UserFunctionError``, which names the combiner, the function and what it
    was given. Raises ``ArgumentError`` for a ``zero`` that can be changed, such as a list or a dict.
    """
    if isinstance(zero, list | dict | set | bytearray):
        raise ArgumentError(
            "combiner.zero", zero, "immutable: a number, a tuple, a frozenset, a frozen record"
        )
    required = (("add", add), ("merge", merge))
    optional = (("extract", extract), ("subtract", subtract))
    for argument, f in (*required, *((one, f) for one, f in optional if f is not None)):
        if not callable(f):
            raise ArgumentError(f"combiner.{argument}", f, "a function")
    if name is not None and (not isinstance(name, str) or not name):
        raise ArgumentError("combiner.name", name, "a non-empty str")
    title = name or f"combiner({describe_function(add)})"
    if subtract is None:
        return Functions(zero, add, merge, extract, title)
    return GroupOfFunctions(zero, add, merge, extract, title, subtract)


def reduce_combiner(f: Callable[[A, A], A], *, zero: A, name: str | None = None) -> Aggregate[A, A]:
    """The values joined by ``f``: ``reduce_combiner(math.gcd, zero=0)``, ``reduce_combiner(operator.or_, zero=False)``.

    ``f`` must be associative and commutative, and ``zero`` its unit. Errors are as ``combiner`` says.
    """
    if not callable(f):
        raise ArgumentError("reduce_combiner.f", f, "a function of two values, such as math.gcd")
    return combiner(zero=zero, add=f, merge=f, name=name or f"reduce_combiner({describe_function(f)})")


__all__ = ["Functions", "GroupOfFunctions", "combiner", "reduce_combiner"]
