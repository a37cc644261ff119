"""The shapes of elements that transforms need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile

from flowalg.data.errors import SchemaMismatchError, UnsupportedError
from flowalg.data.shapes import RecordOf, Shape, TupleOf, contains_float
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.tree.expressions import Opaque
from flowalg.pipeline.nodes import SourceNode, shape_read
from flowalg.pipeline.side_inputs import LatestComplete, Singleton, View
from flowalg_columns.layout import fields_in
from flowalg_columns.notes import why_unknown


def require_exact_pairs(shape: Shape, label: str) -> RecordOf:
    """Returns the shape of pairs; raises ``UnsupportedError`` for other elements, and for keys that contain floats."""
    if not isinstance(shape, RecordOf) or len(shape.fields) != 2:
        raise UnsupportedError(f"{label}: elements must be KV pairs; got elements of type {shape}")
    key = shape.fields[0].shape
    if contains_float(key):
        raise UnsupportedError(
            f"{label}: keys must not contain floats, which cannot be compared exactly; got keys of type {key}"
        )
    return shape


def require_one_key(pairs: Sequence[RecordOf], label: str) -> Shape:
    """Returns the shape of the keys of some collections; raises ``UnsupportedError`` if they differ."""
    key = pairs[0].fields[0].shape
    for pair in pairs:
        if pair.fields[0].shape != key:
            raise UnsupportedError(f"{label} has keys of {key} and of {pair.fields[0].shape}")
    return key


def require_equal_shapes(shapes: Sequence[Shape]) -> None:
    """Raises ``UnsupportedError`` unless collections that are flattened have one shape."""
    for other in shapes:
        if other != shapes[0]:
            raise UnsupportedError(
                "flatten: the elements of all collections must be of one type, or of types that have a sum; got "
                f"{shapes[0]} and {other}"
            )


def require_fields(
    source: SourceNode,
    columns: Collection[str],
    type_of: Callable[[Shape], str],
    other_type: Callable[[str, Shape], str | None],
) -> None:
    """Raises ``SchemaMismatchError``, which lists every difference, unless a frame has the columns of a source.

    ``other_type`` is the type of a column if it cannot be read as values of a shape, whose type is ``type_of`` it.
    """
    own = ", ".join(name for name in columns if not name.startswith("__")) or "none"
    problems = [
        f"\n  {name} must be {field} ({type_of(field)}); got {got}"
        for name, field in fields_in(source.shape)
        for got in [other_type(name, field) if name in columns else f"no such column (the columns are {own})"]
        if got is not None
    ]
    if problems:
        expected = f"the frame of source {source.name!r} must have the columns of {source.shape}"
        raise SchemaMismatchError(f"{expected}:{''.join(problems)}")


def shape_with_side(main: Shape, side: Shape, view: View) -> TupleOf:
    """Returns the shape of an element paired with the value of its side input.

    Raises ``UnsupportedError`` for a default of another type.
    """
    read = shape_read(view, side)
    if read is None:
        single = view.view if isinstance(view, LatestComplete) else view
        default = repr(single.default) if isinstance(single, Singleton) else "..."
        raise UnsupportedError(
            f"as_singleton: default must be None or of type {side}, the type of the side input; got {default}"
        )
    return TupleOf((main, read))


def result_shape(engine: str, chain: Sequence[StepAnalysis], before: Shape | None) -> Shape:
    """Returns the shape after a chain of steps; raises ``UnsupportedError`` if it is unknown.

    The message names the first step after which the shape is unknown.
    """
    after = chain[-1].after if chain else before
    if after is None:
        *_, first = takewhile(lambda analysis: analysis.after is None, reversed(chain))
        arguments = "result=... and failure=..." if first.step.name == "split" else "result=..."
        raise unknown_function_result(engine, first.step.label, first.opaque, f"pass {arguments}, or ")
    return after


def unknown_function_result(
    engine: str, label: str, opaque: Opaque | None, remedy: str = ""
) -> UnsupportedError:
    """Returns the error of a function whose result has no known type, with the reason why it is not lifted."""
    return UnsupportedError(
        f"{label}: {engine} needs the type of its result; {remedy}use a def with a return annotation"
        f"{why_unknown(label, opaque)}"
    )
