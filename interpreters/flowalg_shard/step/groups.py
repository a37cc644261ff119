"""The groups of a stage: the bounds of windows that their columns imply, and the group in which a function raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from flowalg.data.errors import errors_of
from flowalg.data.time import EventTime
from flowalg.windows.calendars import Calendar
from flowalg.windows.group_errors import in_group
from flowalg.windows.window import Window
from flowalg.windows.window_functions import FixedWindows, GlobalWindows
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.window_assignment import end_from_start, window_bounds
from flowalg_shard.tables.columns import END, START
from flowalg_shard.tables.rows import RowError


def implied_bounds(stage: Stage) -> dict[str, pl.Expr]:
    """Returns the bounds of windows that the rest of a window's key implies, so that fewer columns are grouped by."""
    if not stage.fresh or stage.preassigned:
        return {}
    match stage.strategy.windows:
        case FixedWindows() | Calendar() as windows:
            return {END: end_from_start(windows)}
        case GlobalWindows() if stage.keys:
            start, end = window_bounds(GlobalWindows())
            return {START: start, END: end}
        case _:
            return {}


@contextmanager
def errors_in_stage(stage: Stage) -> Iterator[None]:
    """Adds the label of the stage to errors, and to those of functions that see a group its key and window."""
    with errors_of(stage.label):
        try:
            yield
        except RowError as error:
            key, window = _group_of(stage, error.row)
            raise in_group(error.error, key, window) from error.__cause__


def _group_of(stage: Stage, row: pl.DataFrame) -> tuple[object, Window | None]:
    """Returns the key and the window in a row; rows of a key alone have no window."""
    key = stage.key_codec.decode(row.select(stage.keys))
    missing = {name: bound for name, bound in implied_bounds(stage).items() if name not in row.columns}
    bounded = row.with_columns(**missing)
    if START not in bounded.columns:
        return key, None
    start, end = bounded.select(START, END).row(0)
    return key, Window(EventTime(start), EventTime(end))
