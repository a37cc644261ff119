"""Elements paired with the value that they read of a side input: their shape, and the steps that use the value."""

from __future__ import annotations

from collections.abc import Sequence

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import MapOf, Shape, TupleOf, inner_shapes
from flowalg.lifting.analysis import StepAnalysis
from flowalg.pipeline.nodes import shape_read
from flowalg.pipeline.side_inputs import Singleton, View
from flowalg_spark.lowering.flow import Flow


def shape_with_side(main: Flow, side: Flow, view: View) -> TupleOf:
    """The shape of an element paired with the value that it reads of a side input."""
    read = shape_read(view, side.shape)
    if read is None:
        default = repr(view.default) if isinstance(view, Singleton) else "..."
        raise UnsupportedError(
            f"as_singleton(default={default}) reads values of type {side.shape}, and Spark cannot know the type of "
            "either; give a default of that type, or None"
        )
    return TupleOf((main.shape, read))


def steps_on_mapping(analyses: Sequence[StepAnalysis]) -> tuple[StepAnalysis, ...]:
    """The steps that run where a mapping is a Python object: up to the first whose result has a type without mappings.

    Empty if there is no such step.
    """
    for count, analysis in enumerate(analyses, start=1):
        if analysis.after is not None and not _contains_mapping(analysis.after):
            return tuple(analyses[:count])
    return ()


def _contains_mapping(shape: Shape) -> bool:
    return isinstance(shape, MapOf) or any(map(_contains_mapping, inner_shapes(shape)))


__all__ = ["shape_with_side", "steps_on_mapping"]
