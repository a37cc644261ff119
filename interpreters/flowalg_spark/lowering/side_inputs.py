"""Elements paired with the value of a side input: their shape, and the steps that use the value."""

from __future__ import annotations

from collections.abc import Sequence

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import MapOf, Shape, TupleOf, inner_shapes
from flowalg.lifting.analysis import StepAnalysis
from flowalg.pipeline.nodes import shape_read
from flowalg.pipeline.side_inputs import LatestComplete, Singleton, View
from flowalg_spark.lowering.flow import Flow


def shape_with_side(main: Flow, side: Flow, view: View) -> TupleOf:
    """Returns the shape of an element paired with the value of its side input."""
    read = shape_read(view, side.shape)
    if read is None:
        single = view.view if isinstance(view, LatestComplete) else view
        default = repr(single.default) if isinstance(single, Singleton) else "..."
        raise UnsupportedError(
            f"as_singleton: default must be None or of type {side.shape}, the type of the side input; got {default}"
        )
    return TupleOf((main.shape, read))


def steps_on_mapping(analyses: Sequence[StepAnalysis]) -> tuple[StepAnalysis, ...]:
    """Returns the steps up to the first one whose result type contains no mapping, or none if all results contain one.

    They run in Python, where a mapping is a dict.
    """
    for count, analysis in enumerate(analyses, start=1):
        if analysis.after is not None and not _contains_mapping(analysis.after):
            return tuple(analyses[:count])
    return ()


def _contains_mapping(shape: Shape) -> bool:
    return isinstance(shape, MapOf) or any(map(_contains_mapping, inner_shapes(shape)))


__all__ = ["shape_with_side", "steps_on_mapping"]
