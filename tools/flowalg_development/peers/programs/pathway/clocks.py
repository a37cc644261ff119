"""Time in Pathway: percentile watermarks, idle sources, timers, replay, and why there is no result yet."""

from __future__ import annotations

import pathway as pw
from feed import ARRIVALS, LATENESS, WINDOW, print_cells, refusal
from tables import collect, first, sums


def percentile() -> object:
    """A behaviour at a percentile."""
    return refusal(lambda: pw.temporal.common_behavior(percentile=0.9)).partition(":")[0]


def idle() -> object:
    """The first minute of two parts of the input, one of which is silent after its first element."""
    steps = [(5, 10), (1, 15), *((7, at) for at in (70, 90, 110, 130))]
    rows = [("all", points, at, number) for number, (points, at) in enumerate(steps, 1)]
    return [points for _, points in first(collect(sums, rows))]


def timers() -> object:
    """The names with which a timer could be set."""
    modules = (pw, pw.temporal, pw.stateful, pw.reducers)
    return [name for module in modules for name in dir(module) if "timer" in name.lower()]


def replay() -> object:
    """The changes of recorded rows, with the second of each, if results wait for 5 seconds after a minute."""
    behavior = pw.temporal.common_behavior(delay=WINDOW + 5, cutoff=LATENESS)
    rows = [("all", points, at, seen) for seen, points, at in ARRIVALS]
    changes = collect(lambda table: sums(table, behavior), rows)
    return [[time, row["points"]] for time, sign, row in changes if sign == "+" and row["start"] == 0]


def explanations() -> object:
    """The names that tell of a watermark, or of what a window waits for."""
    words = ("watermark", "why", "explain", "pending")
    names = [name for module in (pw, pw.temporal, pw.debug) for name in dir(module)]
    return [name for name in names if any(word in name.lower() for word in words)]


if __name__ == "__main__":
    print_cells(percentile, idle, timers, replay, explanations)
