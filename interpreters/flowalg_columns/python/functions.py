"""User-defined functions that Python computes over Arrow arrays of the columns that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar, assert_never

import numpy as np
import pyarrow as pa
from attrs import frozen

from flowalg.data.errors import FlowalgError
from flowalg.data.shapes import RecordOf, Shape, TupleOf
from flowalg.elementwise.functions import Call, Function, OnValue, Spread, WithKey, user_call
from flowalg.elementwise.steps import Filter, Map, WithTimestamps
from flowalg.lifting.required_fields import delegated_call, required_shape
from flowalg.lifting.tree.expressions import (
    Build,
    Expr,
    Opaque,
    Param,
    PythonCall,
    first_opaque,
    items_of,
    rewrite,
    walk,
)
from flowalg_columns.layout import Branch, Layout, Tree, key_and_value, layout_of, leaf_columns
from flowalg_columns.python.rows import result_of, results_of, try_each
from flowalg_columns.values import AnyArray, read_arrays, write_nested

A = TypeVar("A")

PYTHON_RESULT: Final = "__python_result"
"""The column of the results of a function in Python; those of several calls are numbered."""

PlainFunction: TypeAlias = Call | Spread
OneToOne: TypeAlias = Map | Filter | WithTimestamps
"""A step with one result for each element."""


@frozen
class ArrayFunction:
    """A user-defined function from the leaves of its argument, as arrays, to one array of its results."""

    step: OneToOne
    function: PlainFunction
    element: Layout
    result: Shape

    def __call__(self, columns: Sequence[AnyArray]) -> AnyArray:
        """Computes the results."""
        return self._write(self._results(self._read(columns)))

    def flag(self, columns: Sequence[AnyArray]) -> tuple[AnyArray, AnyArray]:
        """Computes the results, null for elements on which the function fails, and whether it fails for each."""
        elements = self._read(columns)
        results, good, _ = try_each(self._results, elements, result_of(self.step, self.function))
        try:
            array = self._write(results)
        except FlowalgError:
            _, typed, _ = try_each(lambda part: [self._write(part)], results)
            array = self._write([results[position] for position in typed])
            good = [good[position] for position in typed]
        if len(good) == len(elements):
            return array, pa.repeat(False, len(elements))
        failed = np.ones(len(elements), np.bool_)
        failed[good] = False
        rows = pa.array(np.cumsum(~failed) - 1, pa.int64(), mask=failed)
        return array.take(rows), pa.array(failed)

    def _read(self, columns: Sequence[AnyArray]) -> list[object]:
        names = leaf_columns(self.element)
        return read_arrays(self.element, dict(zip(names, columns, strict=True)))

    def _results(self, elements: list[object]) -> list[object]:
        return results_of(self.step, self.function, elements)

    def _write(self, results: list[object]) -> AnyArray:
        return write_nested(self.result, results, f"the result of {self.step.label}")


@frozen
class PlannedCall:
    """The function that Python runs. If computations around a call of it are lifted, ``arguments`` are these."""

    function: PlainFunction
    arguments: tuple[Expr, ...] | None = None

    @property
    def argument_shape(self) -> Shape | None:
        """The shape of the lifted argument or arguments; ``None`` if the argument is the element itself."""
        if self.arguments is None:
            return None
        shapes = tuple(argument.shape for argument in self.arguments)
        known_shapes = tuple(shape for shape in shapes if shape is not None)
        return known_shapes[0] if len(shapes) == 1 else TupleOf(known_shapes)

    def layout(self, element: Shape) -> Layout:
        """Returns the layout of what the function reads of its argument."""
        return layout_of(
            required_shape(self.function.f, element) if isinstance(self.function, Call) else element
        )


def plan_call(function: Function, element: Shape) -> PlannedCall:
    """Plans the call of a step's function on an argument of the shape ``element``."""
    if isinstance(function, Spread):
        return PlannedCall(function)
    call = user_call(function)
    delegated = delegated_call(call.f, element)
    if delegated is None:
        return PlannedCall(call)
    return _planned(PythonCall(*delegated))


def array_function(
    step: OneToOne,
    function: Function | PlannedCall,
    element: Tree[A],
    result: Shape,
    evaluate: Callable[[Expr, Tree[A]], Tree[A]],
) -> tuple[ArrayFunction, list[A]]:
    """Returns the results of a function as a function of arrays, and the columns of these.

    ``element`` has the columns of the function's argument, from which ``evaluate`` computes a lifted part.
    """
    call = function if isinstance(function, PlannedCall) else plan_call(function, element.shape)
    if call.arguments is not None:
        shape, parts = call.argument_shape, [evaluate(part, element) for part in call.arguments]
        element = Branch(shape, tuple(parts)) if len(parts) > 1 and isinstance(shape, TupleOf) else parts[0]
    layout, names = call.layout(element.shape), leaf_columns(layout_of(element.shape))
    column_of = dict(zip(names, leaf_columns(element), strict=True))
    read = [column_of[name] for name in leaf_columns(layout)]
    return ArrayFunction(step, call.function, layout, result), read


@frozen
class PartialCalls:
    """A ``map`` that builds its result from columns and from the results of calls in Python.

    ``calls`` have the name of the column of their result, and its shape. ``rest`` is an expression of a tuple of the
    shape ``shape``: the element, and the result of each call.
    """

    calls: tuple[tuple[str, PlannedCall, Shape], ...]
    shape: TupleOf
    rest: Expr


def partial_calls(expression: Expr, before: Shape) -> PartialCalls | None:
    """Returns the calls from which a lifted function builds its result; ``None`` if it must run as a whole."""
    opaque = [node for node in walk(expression) if isinstance(node, Opaque)]
    built = dict.fromkeys(node for node in _built(expression) if isinstance(node, Opaque))
    calls = [(node.call, node.shape) for node in built if node.call is not None and node.shape is not None]
    if not isinstance(expression, Build) or {*opaque} != {*built} or len(calls) != len(built):
        return None
    shape = TupleOf((before, *(result for _, result in calls)))
    element, *results = items_of(Param(shape))
    result_of = dict(zip(built, results, strict=True))

    def of_results(node: Expr) -> Expr:
        match node:
            case Param():
                return element
            case Opaque():
                return result_of[node]
            case _:
                return node

    planned = (
        (f"{PYTHON_RESULT}{number}", _planned(call), result) for number, (call, result) in enumerate(calls)
    )
    rest = rewrite(expression, of_results)
    return None if first_opaque(rest) else PartialCalls(tuple(planned), shape, rest)


def _built(expression: Expr) -> Iterator[Expr]:
    """Yields the parts from which an expression builds records and tuples: they are always evaluated."""
    if isinstance(expression, Build):
        for part in expression.parts:
            yield from _built(part)
    else:
        yield expression


def _planned(call: PythonCall) -> PlannedCall:
    return PlannedCall(Call(call.f) if len(call.args) == 1 else Spread(Call(call.f)), call.args)


def map_argument(function: Function, element: Tree[A], after: Shape) -> tuple[Function, Tree[A], Shape]:
    """Returns what a ``map`` calls in Python: a function, the part of the element that it reads, its result's shape."""
    while isinstance(function, OnValue):
        element, function, after = key_and_value(element)[1], function.function, part_shape(after, 1)
    if isinstance(function, WithKey):
        after = part_shape(after, 0)
    return function, element, after


def part_shape(pair: Shape, index: int) -> Shape:
    """Returns the shape of the key or the value of a pair."""
    assert isinstance(pair, RecordOf), "a pair"
    return pair.fields[index].shape


def map_result(function: Function, element: Tree[A], result: Tree[A], after: Shape) -> Tree[A]:
    """Returns the columns after a ``map``: unchanged parts of the element, and the result of the function."""
    match function:
        case Call() | Spread():
            return result
        case WithKey():
            assert isinstance(after, RecordOf), "a pair"
            return Branch(after, (result, element))
        case OnValue(function=inner):
            assert isinstance(after, RecordOf), "a pair"
            key, value = key_and_value(element)
            return Branch(after, (key, map_result(inner, value, result, part_shape(after, 1))))
    assert_never(function)
