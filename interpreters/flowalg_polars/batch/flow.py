"""The lowered form of a collection in a batch: a lazy frame with the columns of its elements and their metadata."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import evolve, frozen
from flowalg_columns.checks.shapes import require_equal_shapes
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.notes import LiftingNote

from flowalg.data.shapes import Shape
from flowalg_polars.columns import Columns, columns_of
from flowalg_polars.lowering.programs import Program
from flowalg_polars.meta import aligned, union_meta


@frozen
class Flow:
    """A frame whose columns are the leaves of an element's layout, followed by the metadata columns ``meta``."""

    frame: pl.LazyFrame
    shape: Shape
    meta: tuple[str, ...]
    notes: tuple[LiftingNote, ...] = ()

    @property
    def element(self) -> Columns:
        """The columns of the element."""
        return columns_of(layout_of(self.shape))

    def after(self, program: Program) -> Flow:
        """Returns the flow after a program."""
        notes = (*self.notes, *program.notes)
        return evolve(self, frame=program.apply(self.frame), shape=program.shape, notes=notes)

    def with_notes(self, *notes: LiftingNote) -> Flow:
        """Returns the flow with more notes about how its functions run."""
        return evolve(self, notes=(*self.notes, *notes))


def union(flows: Sequence[Flow]) -> Flow:
    """Returns the union of flows; raises ``UnsupportedError`` if their shapes differ."""
    first, *others = flows
    require_equal_shapes([flow.shape for flow in flows])
    notes = [note for other in others for note in other.notes]
    meta, element = union_meta(flow.meta for flow in flows), leaf_columns(layout_of(first.shape))
    frames = [aligned(flow.frame, flow.meta, element, meta) for flow in flows]
    return evolve(first, frame=pl.concat(frames), meta=meta).with_notes(*notes)
