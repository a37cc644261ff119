"""Computations: elements as the rows that the shard step reads, and its outputs as elements."""

from __future__ import annotations

import polars as pl
from attrs import evolve, frozen
from flowalg_columns.checks.shapes import require_exact_pairs
from flowalg_columns.checks.stages import computation_stage
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns
from flowalg_columns.notes import LiftingNote, note_of_computation, note_of_rounds
from flowalg_shard.computations.columns import TransitionColumns
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import END, EVENT_TIME, START

from flowalg.computations.library import built_in
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.nodes import Process
from flowalg.windows.window import GLOBAL_WINDOW
from flowalg_polars.columns import columns_of
from flowalg_polars.lowering.programs import ENGINE
from flowalg_polars.lowering.python_steps import frame_schema
from flowalg_polars.lowering.transition_columns import transition_columns
from flowalg_polars.meta import ELEMENT_META, weight_of


@frozen
class PreparedComputation:
    """A computation: its stage, the shape of its outputs, the shape and metadata of its elements, and a note."""

    stage: ComputationStage
    pair: RecordOf
    shape: Shape
    meta: tuple[str, ...]
    note: LiftingNote

    @classmethod
    def of(
        cls, node: Process, shape: Shape, meta: tuple[str, ...], *, dead_letters: bool
    ) -> PreparedComputation:
        """Prepares a computation; raises ``UnsupportedError`` if the type of its outputs is unknown."""
        stage, pair = computation_stage(node, shape, dead_letters=dead_letters)
        if built_in(node.computation) is not None or stage.in_order:
            return cls(stage, pair, shape, meta, note_of_computation(node, ENGINE))
        columns = transition_columns(node, require_exact_pairs(shape, node.label), pair.fields[1].shape)
        if isinstance(columns, TransitionColumns):
            stage, opaque = evolve(stage, in_columns=columns), None
        else:
            opaque = columns
        return cls(stage, pair, shape, meta, note_of_rounds(node, opaque, ENGINE))

    @property
    def key(self) -> tuple[pl.Expr, ...]:
        """The columns of the key of an element."""
        return leaf_columns(key_and_value(columns_of(layout_of(self.shape)))[0])

    def rows(self, elements: pl.DataFrame) -> pl.DataFrame:
        """Returns elements as rows: the key, the value, the event time, the weight, and the window."""
        bounds = [
            pl.col(name) if name in self.meta else pl.lit(bound, pl.Int64()).alias(name)
            for name, bound in ((START, GLOBAL_WINDOW.start), (END, GLOBAL_WINDOW.end))
        ]
        return elements.select(
            *self.stage.key.columns,
            *self.stage.value.columns,
            EVENT_TIME,
            weight_of(self.meta),
            *bounds,
        )

    def elements(self, outputs: pl.DataFrame) -> pl.DataFrame:
        """Returns outputs as elements, by key and then in the order in which they were emitted."""
        schema = frame_schema(self.pair, ELEMENT_META)
        if outputs.is_empty():
            return pl.DataFrame(schema=schema)
        keys = self.stage.keys
        ordered = outputs.sort(keys, maintain_order=True) if keys and outputs.height > 1 else outputs
        return ordered.select(pl.col(name).cast(kind) for name, kind in schema.items())
