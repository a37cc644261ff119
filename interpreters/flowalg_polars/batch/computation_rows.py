"""Computations: elements as the rows that the shard step reads, and its outputs as elements."""

from __future__ import annotations

import pickle

import polars as pl
from attrs import frozen
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns
from flowalg_columns.names import CHANGE, END, EVENT_TIME, START
from flowalg_columns.notes import LiftingNote
from flowalg_columns.values import read_elements
from flowalg_shard.computations.step import ComputationStage
from flowalg_shard.tables.columns import VALUE, WEIGHT

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.nodes import Process
from flowalg.runs.panes import Change
from flowalg.windows.window import GLOBAL_WINDOW
from flowalg_polars.batch.flow import require_pairs
from flowalg_polars.columns import columns_of
from flowalg_polars.lowering.packed_results import result_columns
from flowalg_polars.lowering.programs import ENGINE
from flowalg_polars.lowering.python_steps import frame_schema, to_arrow
from flowalg_polars.meta import ELEMENT_META


@frozen
class PreparedComputation:
    """A computation: its stage, the shape of its outputs, and the shape and metadata of the elements that it reads."""

    stage: ComputationStage
    pair: RecordOf
    shape: Shape
    meta: tuple[str, ...]

    @classmethod
    def of(
        cls, node: Process, shape: Shape, meta: tuple[str, ...], *, dead_letters: bool
    ) -> PreparedComputation:
        """Prepares a computation; raises ``UnsupportedError`` if the type of its outputs is unknown."""
        require_pairs(shape, node.label)
        pair = node.shape
        if not isinstance(pair, RecordOf):
            raise UnsupportedError(
                f"{node.label}: the type of its outputs is unknown; pass Computation(..., result=...), or annotate the "
                "result of on_element, as Transition[int, str]"
            )
        keys = leaf_columns(key_and_value(layout_of(pair))[0])
        return cls(ComputationStage.of(node, keys, dead_letters=dead_letters), pair, shape, meta)

    @property
    def note(self) -> LiftingNote:
        """How its functions run."""
        return LiftingNote(self.stage.label, "a computation, which keeps its state in Python", None, ENGINE)

    @property
    def key(self) -> tuple[pl.Expr, ...]:
        """The columns of the key of an element."""
        return leaf_columns(key_and_value(columns_of(layout_of(self.shape)))[0])

    def rows(self, elements: pl.DataFrame) -> pl.DataFrame:
        """Returns elements as rows: the key, the event time, the weight, the pickled pair, and the window."""
        pairs = read_elements(layout_of(self.shape), to_arrow(elements, self.shape, self.meta))
        packed = pl.Series(VALUE, [pickle.dumps(pair) for pair in pairs], pl.Binary())
        keys = [column.alias(name) for column, name in zip(self.key, self.stage.keys, strict=True)]
        bounds = [
            pl.col(name) if name in self.meta else pl.lit(bound, pl.Int64()).alias(name)
            for name, bound in ((START, GLOBAL_WINDOW.start), (END, GLOBAL_WINDOW.end))
        ]
        weight = pl.lit(1)
        if CHANGE in self.meta:
            weight = pl.when(pl.col(CHANGE) == Change.RETRACTION.value).then(-1).otherwise(1)
        return elements.select(*keys, EVENT_TIME, weight.cast(pl.Int8()).alias(WEIGHT), *bounds).with_columns(
            packed
        )

    def elements(self, outputs: pl.DataFrame) -> pl.DataFrame:
        """Returns outputs as elements, by key and then in the order in which they were emitted."""
        if outputs.is_empty():
            return pl.DataFrame(schema=frame_schema(self.pair, ELEMENT_META))
        key, value = key_and_value(layout_of(self.pair))
        keys = self.stage.keys
        ordered = outputs.sort(keys, maintain_order=True) if keys and outputs.height > 1 else outputs
        names = zip(keys, leaf_columns(key), strict=True)
        return ordered.select(pl.col(old).alias(new) for old, new in names).with_columns(
            *result_columns(ordered, value, self.stage.label), ordered[EVENT_TIME]
        )


__all__ = ["PreparedComputation"]
