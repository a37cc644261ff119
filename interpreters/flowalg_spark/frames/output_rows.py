"""Several outputs as the rows of one frame, each with the name of its output and a struct of the output's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowalg_columns.output_elements import DROP_WINDOW
from flowalg_columns.panes import METRICS_COLUMN
from pyspark.sql import DataFrame, SparkSession

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.run import Outputs
from flowalg_spark.encoding.columns import CASE_SENSITIVE, col, same_column, select, where
from flowalg_spark.encoding.sql import quoted
from flowalg_spark.frames.drops import collect_bad_records, collect_drops_of
from flowalg_spark.frames.pane_frame import collect_output

OUTPUT: Final = "output"
"""The column with the name of a row's output."""

_RESERVED: Final = (OUTPUT, "drop", DROP_WINDOW, METRICS_COLUMN)


def require_column_names(outputs: Mapping[str, object], session: SparkSession) -> None:
    """Raises ``ArgumentError`` for an output that the session does not tell from another column of the frame."""
    names = {same_column(name, session): name for name in _RESERVED}
    for name in outputs:
        other = names.setdefault(same_column(name, session), name)
        if other in _RESERVED:
            valid = f"another name than those of the frame's own columns, {', '.join(_RESERVED)}"
            raise ArgumentError("a name of outputs", name, valid)
        if other != name:
            raise ArgumentError(
                "a name of outputs",
                name,
                f"one that differs from {other!r} not only in case, unless the session tells them apart, by "
                f'spark.conf.set("{CASE_SENSITIVE}", "true")',
            )


def select_output(frame: DataFrame, name: str) -> DataFrame:
    """Returns one output of several: its rows, with the columns that ``streaming.compile`` gives for it alone.

    ``frame`` has the rows of several outputs: the frame of a micro-batch, or a table that a sink has stored.
    Drops and metrics belong to no output, and are left out. Raises ``ArgumentError`` for a frame without that output.

    Example::

        final_values(select_output(spark.read.parquet("outputs"), "totals")).show()
    """
    names = output_names(frame)
    if name not in names:
        raise ArgumentError("name", name, f"an output of the frame: {', '.join(names)}")
    return select(where(frame, col(OUTPUT) == name), f"{quoted(name)}.*")


def collect_outputs(outputs: Mapping[str, PCollection[object]], frame: DataFrame) -> Outputs:
    """Collects several outputs, with the drops and bad records of all, as typed values from a frame with these rows."""
    return Outputs(
        {name: collect_output(pipeline, select_output(frame, name)) for name, pipeline in outputs.items()},
        collect_drops_of(outputs, frame),
        outputs,
        bad_records=collect_bad_records(frame),
    )


def output_names(frame: DataFrame) -> list[str]:
    """Returns the names of the outputs in a frame; raises ``ArgumentError`` for a frame without outputs."""
    if not isinstance(frame, DataFrame) or OUTPUT not in frame.columns:
        raise ArgumentError(
            "frame", frame, "a DataFrame with the rows of several outputs, as of streaming.compile"
        )
    return [column for column in frame.columns if column not in _RESERVED]
