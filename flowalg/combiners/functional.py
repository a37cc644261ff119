"""Combiners made from plain functions, without a class."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Generic, TypeVar, cast, overload

from attrs import field, frozen

from flowalg.combiners.core import Aggregate, Combiner, Group
from flowalg.data.errors import ArgumentError, FlowalgError, describe_function, require_name
from flowalg.data.shapes import ElementType, Shape, shape_of
from flowalg.data.values import conform
from flowalg.elementwise.functions import user_function_error

A = TypeVar("A")
Acc = TypeVar("Acc")
In = TypeVar("In")
Out = TypeVar("Out")


@frozen
class FunctionCombiner(Combiner[In, Acc, Out], Generic[In, Acc, Out]):
    """A combiner made from functions by ``combiner`` or ``reduce_combiner``; equal if its functions are equal."""

    initial: Acc
    add_function: Callable[[Acc, In], Acc]
    merge_function: Callable[[Acc, Acc], Acc]
    extract_function: Callable[[Acc], Out] | None
    name: str
    result: ElementType = field(default=None, kw_only=True)

    def zero(self) -> Acc:  # noqa: D102
        return self.initial

    def add(self, accumulator: Acc, value: In) -> Acc:  # noqa: D102
        try:
            return self.add_function(accumulator, value)
        except Exception as cause:
            raise self._error("add", self.add_function, value, cause) from cause

    def merge(self, left: Acc, right: Acc) -> Acc:  # noqa: D102
        try:
            return self.merge_function(left, right)
        except Exception as cause:
            raise self._error("merge", self.merge_function, (left, right), cause) from cause

    def extract(self, accumulator: Acc) -> Out:  # noqa: D102
        try:
            result: object = (
                accumulator if self.extract_function is None else self.extract_function(accumulator)
            )
        except Exception as cause:
            assert self.extract_function is not None
            raise self._error("extract", self.extract_function, accumulator, cause) from cause
        if self.declared_shape is not None:
            result = conform(result, self.declared_shape, f"the result of {self.name}")
        return cast("Out", result)

    @cached_property
    def declared_shape(self) -> Shape | None:
        """The shape of the declared result type, if there is one."""
        return None if self.result is None else shape_of(self.result, where=f"the result of {self.name}")

    def _error(self, part: str, f: Callable[..., object], argument: object, cause: Exception) -> FlowalgError:
        return user_function_error(f"{self.name}.{part}", f, argument, cause)

    @property
    def title(self) -> str:
        """The name of the combiner."""
        return self.name


@frozen
class FunctionGroup(FunctionCombiner[In, Acc, Out], Group[In, Acc, Out]):
    """A combiner made from functions that can also subtract a value."""

    subtract_function: Callable[[Acc, In], Acc]

    def subtract(self, accumulator: Acc, value: In) -> Acc:  # noqa: D102
        try:
            return self.subtract_function(accumulator, value)
        except Exception as cause:
            raise self._error("subtract", self.subtract_function, value, cause) from cause


@overload
def combiner(
    *,
    zero: Acc,
    add: Callable[[Acc, In], Acc],
    merge: Callable[[Acc, Acc], Acc],
    extract: Callable[[Acc], Out],
    subtract: Callable[[Acc, In], Acc] | None = None,
    name: str | None = None,
    result: type[Out] | None = None,
) -> Aggregate[In, Out]: ...
@overload
def combiner(
    *,
    zero: Acc,
    add: Callable[[Acc, In], Acc],
    merge: Callable[[Acc, Acc], Acc],
    subtract: Callable[[Acc, In], Acc] | None = None,
    name: str | None = None,
    result: type[Acc] | None = None,
) -> Aggregate[In, Acc]: ...
def combiner(
    *,
    zero: object,
    add: Callable[..., object],
    merge: Callable[..., object],
    extract: Callable[..., object] | None = None,
    subtract: Callable[..., object] | None = None,
    name: str | None = None,
    result: ElementType = None,
) -> object:
    """Returns a combiner made from functions on accumulators, which must never be modified in place.

    ``zero`` is the accumulator of no values. ``add`` adds one value to an accumulator, ``merge`` merges two, and
    ``extract`` returns the result; by default the result is the accumulator. With ``subtract``, which removes a
    value, the combiner is a ``Group`` and applies retractions directly. ``name`` is its name in labels and messages.
    ``result`` is the type of the result, which Spark needs for a lambda; a ``def`` can be annotated instead.

    Both type checkers infer the types of lambdas from the collection and from ``zero``, with one exception: pyright
    infers a ``zero`` of ``(0, 0)`` as a tuple of these literals. Use a record there, or annotated functions.

    The functions must satisfy the laws of ``Combiner``; ``flowalg_laws.check_combiner`` searches for a
    counterexample. If a function raises, the error is a ``UserFunctionError`` that names the combiner, the function
    and its argument. Raises ``ArgumentError`` for a mutable ``zero``, such as a list or a dict.

    Example:

    >>> longest = combiner(zero="", add=lambda a, b: max(a, b, key=len), merge=lambda a, b: max(a, b, key=len))
    >>> results(scores.map(lambda s: s.team).combine_globally(longest))
    ['blue']
    """
    if isinstance(zero, list | dict | set | bytearray):
        raise ArgumentError(
            "combiner.zero", zero, "immutable, such as a number, a tuple, a frozenset or a frozen record"
        )
    required = (("add", add), ("merge", merge))
    optional = ((part, f) for part, f in (("extract", extract), ("subtract", subtract)) if f is not None)
    for argument, f in (*required, *optional):
        if not callable(f):
            raise ArgumentError(f"combiner.{argument}", f, "a function")
    if name is not None:
        require_name("combiner.name", name)
    title = name or f"combiner({describe_function(add)})"
    made: FunctionCombiner[object, object, object]
    if subtract is None:
        made = FunctionCombiner(zero, add, merge, extract, title, result=result)
    else:
        made = FunctionGroup(zero, add, merge, extract, title, subtract, result=result)
    _ = made.declared_shape  # raises if the result type is not an element type
    return made


def reduce_combiner(
    f: Callable[[A, A], A], *, zero: A, name: str | None = None, result: type[A] | None = None
) -> Aggregate[A, A]:
    """Returns a combiner that joins values with ``f``: ``reduce_combiner(math.gcd, zero=0)``.

    ``f`` must be associative and commutative with unit ``zero``. Errors are those of ``combiner``.

    Example:

    >>> import math
    >>> results(points.combine_per_key(reduce_combiner(math.gcd, zero=0)))
    [KV(key='blue', value=7), KV(key='red', value=1)]
    """
    if not callable(f):
        raise ArgumentError("reduce_combiner.f", f, "a function of two values, such as math.gcd")
    title = name or f"reduce_combiner({describe_function(f)})"
    return combiner(zero=zero, add=f, merge=f, name=title, result=result)
