"""Frames of other libraries: pandas, PyArrow, DuckDB, and all that share tables by Arrow's C stream interface."""

from __future__ import annotations

from typing import Any, Final, Protocol

import polars as pl
import pyarrow as pa

from flowalg.data.errors import ArgumentError, is_frame


class ArrowStream(Protocol):
    """A table of any library that shares it by Arrow, such as a DataFrame of pandas or a relation of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the capsule of the stream."""
        ...


FRAME: Final = "a frame (of Polars, pandas, PyArrow or DuckDB)"


def polars_frame(argument: str, data: Any, valid: str = FRAME) -> pl.DataFrame:  # noqa: ANN401  # of a library that need not be installed
    """Returns a table of any library as a frame of Polars, without a copy where the library can.

    What pandas takes for missing, such as NaN in a column of floats, is null. Raises ``ArgumentError`` for another
    value, and for a table with columns that Arrow or Polars does not have.
    """
    if isinstance(data, pl.DataFrame):
        return data
    if not is_frame(data) or isinstance(data, pl.Series):
        raise ArgumentError(argument, data, valid)
    try:
        frame = pl.from_arrow(pa.table(data))
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise ArgumentError(
            argument, data, "a table whose columns have types of Arrow", why=str(error)
        ) from error
    assert isinstance(frame, pl.DataFrame), "a table is a frame"
    return frame
