"""Tables of Pathway over the steps of a feed: each step has a time of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import pathway as pw
from feed import LATENESS, WINDOW, Step, as_elements

logging.disable(logging.CRITICAL)
MINUTES = pw.temporal.tumbling(duration=WINDOW)
WHEN_COMPLETE = pw.temporal.common_behavior(delay=WINDOW, cutoff=LATENESS)


class Score(pw.Schema):
    """Points of a player."""

    player: str
    points: int
    at: int


def collect(build: Callable[[pw.Table], pw.Table], rows: Iterable[tuple[str, int, int, int]]) -> list:
    """Returns the changes of the table that ``build`` makes of the rows: time, sign and row, in order.

    The last number of a row is its time. Within a time, retractions come first.
    """
    table = pw.debug.table_from_rows(Score, [(*row[:3], 2 * row[3], 1) for row in rows], is_stream=True)
    changes: list = []

    def on_change(key, row, time, is_addition) -> None:
        changes.append((time // 2, "+" if is_addition else "-", row))

    pw.io.subscribe(build(table), on_change)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return sorted(changes, key=lambda change: (change[0], change[1] == "+"))


def run(build: Callable[[pw.Table], pw.Table], steps: Iterable[Step]) -> list:
    """Returns the changes over the steps of a feed."""
    return collect(build, [(*row, number + 1) for number, row in enumerate(as_elements(steps))])


def sums(table: pw.Table, behavior=WHEN_COMPLETE) -> pw.Table:
    """Returns the sums by player and minute."""
    windows = table.windowby(table.at, window=MINUTES, instance=table.player, behavior=behavior)
    return windows.reduce(
        player=pw.this._pw_instance,
        start=pw.this._pw_window_start,
        points=pw.reducers.sum(pw.this.points),
    )


def first(changes: list) -> list:
    """Returns the changes of the first minute of players, with the sign and the points."""
    return [
        (sign, row["points"]) for _, sign, row in changes if row["start"] == 0 and row["player"] != "clock"
    ]
