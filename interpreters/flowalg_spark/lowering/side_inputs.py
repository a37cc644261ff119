"""The shape of elements paired with the value of a side input."""

from __future__ import annotations

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import TupleOf
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
