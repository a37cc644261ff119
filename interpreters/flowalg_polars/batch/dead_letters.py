"""Dead letters of a batch: work whose bad records are rows of the same lazy frame, and the frame of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

import polars as pl
from attrs import define, field, frozen
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.names import BAD_RECORD, DROPPED_VALUE, ERROR, STAGE
from flowalg_columns.notes import LiftingNote

from flowalg.data.shapes import Shape
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord
from flowalg_polars.batch.flow import Flow
from flowalg_polars.lowering.binding import BoundSource
from flowalg_polars.lowering.programs import Program
from flowalg_polars.lowering.python_steps import frame_schema
from flowalg_polars.lowering.sections import Sift, Sifted, sift
from flowalg_polars.lowering.sifting import sift_source

_LETTER: Final = {name: pl.String() for name in (STAGE, ERROR, DROPPED_VALUE)}
"""The columns of a bad record, which are null on the rows of elements."""


@frozen(eq=False)
class _Divided:
    """Work on a frame that keeps bad records apart: the good rows that it gives, and the bad records."""

    frame: pl.LazyFrame
    work: Sift
    good: pl.LazyFrame
    letters: pl.LazyFrame
    whole: bool


@define
class DeadLetters:
    """The bad records of the nodes that have been lowered."""

    divided: list[_Divided] = field(factory=list)

    @property
    def frames(self) -> list[pl.LazyFrame]:
        """A lazy frame of bad records for each piece of work."""
        return [divided.letters for divided in self.divided]

    def bind_source(self, source: SourceNode, program: BoundSource, frame: pl.LazyFrame) -> Flow:
        """Returns the flow of a source's good records."""
        return self._sifted(program, frame, lambda rows: sift_source(source, program, rows))

    def apply(self, flow: Flow, program: Program, *, alone: bool) -> Flow:
        """Returns the flow after a program, without the elements on which it fails.

        If it reads the flow ``alone``, it is one piece of work with the one that gives the flow: Polars computes the
        later of two for panes and bad records together, but then computes the earlier one twice.
        """
        if not program.can_fail:
            return flow.after(program)
        frame, work = flow.frame, partial(sift, program.sections)
        before = next((divided for divided in self.divided if divided.good is flow.frame), None)
        if alone and before is not None and not before.whole:
            self.divided.remove(before)
            frame, work = before.frame, partial(_sift_in_turn, before.work, work)
        return self._sifted(program, frame, work).with_notes(*flow.notes)

    def _sifted(self, program: Program, frame: pl.LazyFrame, work: Sift) -> Flow:
        return self.divide(frame, work, program.shape, program.meta, program.notes)

    def divide(
        self,
        frame: pl.LazyFrame,
        work: Sift,
        shape: Shape,
        meta: tuple[str, ...],
        notes: tuple[LiftingNote, ...],
        *,
        whole: bool = False,
    ) -> Flow:
        """Returns the flow of the good rows of a function, which needs the ``whole`` frame or runs batch by batch."""
        schema = frame_schema(shape, meta)

        def divide(rows: pl.DataFrame) -> pl.DataFrame:
            sifted = work(rows)
            letters = letter_frame(sifted.bad)
            return pl.concat([sifted.frame.select(list(schema)), letters], how="diagonal")

        divided = frame.map_batches(divide, schema={**schema, **_LETTER}, streamable=not whole)
        is_letter = pl.col(STAGE).is_not_null()
        names = (*leaf_columns(layout_of(shape)), *meta)
        good, letters = divided.filter(~is_letter).select(names), divided.filter(is_letter).select(*_LETTER)
        self.divided.append(_Divided(frame, work, good, letters, whole))
        return Flow(good, shape, meta, notes)


def _sift_in_turn(first: Sift, second: Sift, rows: pl.DataFrame) -> Sifted:
    """Returns what the second work makes of the good rows of the first, and the bad records of both."""
    before = first(rows)
    after = second(before.frame)
    return Sifted(after.frame, (*before.bad, *after.bad))


def letter_frame(records: Iterable[BadRecord]) -> pl.DataFrame:
    """Returns bad records as rows."""
    rows = [(record.stage, record.error, record.record) for record in records]
    return pl.DataFrame(rows, schema=_LETTER, orient="row")


def dead_letter_frame(frames: Iterable[pl.LazyFrame], now: pl.Expr) -> pl.LazyFrame:
    """Returns bad records with the columns of drops, at a processing time in microseconds."""
    letters = pl.concat([pl.LazyFrame(schema=_LETTER), *frames])
    time = pl.Datetime("us", "UTC")
    return letters.select(
        pl.col(STAGE).alias("stage"),
        pl.lit(BAD_RECORD).alias("reason"),
        pl.lit(1, pl.Int64()).alias("count"),
        pl.lit(None, pl.String()).alias("key"),
        pl.col(DROPPED_VALUE).alias("value"),
        now.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias("processing_time"),
        pl.lit(None, time).alias("watermark"),
        pl.col(ERROR).alias("error"),
    )


def bad_records_in(letters: pl.DataFrame) -> tuple[BadRecord, ...]:
    """Returns the bad records in a frame of dead letters, sorted."""
    rows = letters.select("stage", "error", "value").rows()
    return tuple(sorted(BadRecord(*row) for row in rows))
