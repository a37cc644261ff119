"""Outputs of any interpreter as frames of Polars."""

from __future__ import annotations

from typing import TypeVar

import polars as pl
from flowalg_columns.tables import output_table

from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import Output

A = TypeVar("A")


def output_frame(pipeline: PCollection[A], output: Output[A]) -> pl.DataFrame:
    """Returns the panes of an output, or its elements if the pipeline groups nothing, as a frame of Polars.

    The output may be a run of any interpreter, or a micro-batch of a stream. The columns are those of
    ``batch.compile``. Raises ``RecordTypeError`` if the type of the elements is not known.

    Example::

        run = reference.run(totals, {scores: timeline})
        flowalg_polars.output_frame(totals, run).to_pandas()
    """
    frame = pl.from_arrow(output_table(pipeline, output))
    assert isinstance(frame, pl.DataFrame), "a table is a frame"
    return frame
