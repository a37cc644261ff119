"""Times of a column as datetimes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import cast

import polars as pl

from flowalg.data.time import EPOCH


def read_datetimes(micros: pl.Series) -> Iterable[datetime]:
    """Returns microseconds since the epoch as datetimes in UTC."""
    durations = cast("list[timedelta]", micros.to_numpy().astype("timedelta64[us]").tolist())
    return map(EPOCH.__add__, durations)
