"""Time in Bytewax: percentile watermarks, idle sources, timers, replay, and why there is no result yet."""

from __future__ import annotations

import pkgutil
from datetime import UTC, datetime, timedelta

import bytewax
import bytewax.operators as op
from bytewax.operators import windowing as win
from bytewax.testing import TestingSource
from feed import ARRIVALS, print_cells, refusal
from flows import MINUTES, SECOND, START, collect, first, sums


def percentile() -> object:
    """A clock at a percentile."""
    found = refusal(lambda: win.EventClock(lambda value: value, 0 * SECOND, percentile=0.9))
    return found.partition(":")[0]


def idle() -> object:
    """The first minute of two parts of a key, one of which is silent after its first element."""
    steps = [(5, 10), (1, 15), *((7, at) for at in (70, 90, 110, 130))]
    return first(collect(lambda stream: sums(stream).down, rows(steps)))[:1]


def rows(steps) -> list:
    """Returns the items of one key."""
    return [("all", (value, START + at * SECOND)) for value, at in steps]


class Timer(op.StatefulLogic):
    """Adds up the values, and emits the sum when it is notified: at a time of the system's clock."""

    def __init__(self, total) -> None:
        self.total = total or 0
        self.at = datetime.now(UTC) + timedelta(milliseconds=100)

    def on_item(self, value):
        """Adds a value."""
        self.total += value[0]
        return [], False

    def on_notify(self):
        """Emits the sum."""
        self.at = None
        return [f"processing {self.total}"], False

    def notify_at(self):
        """Returns the time of the only notification."""
        return self.at

    def snapshot(self):
        """Returns the state."""
        return self.total


def timers() -> object:
    """State and a notification, and the names of other ones."""
    first_value, *others = rows([(5, 10), (3, 20), (0, 61)])
    given = [first_value, TestingSource.PAUSE(timedelta(seconds=2)), *others]
    outputs = collect(lambda stream: op.stateful("timer", stream, Timer), given)
    return [text for _, text in outputs]


def replay() -> object:
    """The sums of recorded rows, with a watermark 5 seconds behind."""
    clock = win.EventClock(lambda value: value[1], 5 * SECOND, now_getter=lambda: START)

    def by_minute(stream):
        return win.fold_window(
            "sums",
            stream,
            clock,
            MINUTES,
            lambda: 0,
            lambda total, value: total + value[0],
            lambda a, b: a + b,
        ).down

    return first(collect(by_minute, rows([(value, at) for _, value, at in ARRIVALS])))


def explanations() -> object:
    """The modules and names of windows that tell of a watermark or of what a window waits for."""
    words = ("watermark", "why", "explain", "pending")
    names = [module.name for module in pkgutil.walk_packages(bytewax.__path__, "bytewax.")] + dir(win)
    return [name for name in names if any(word in name.lower() for word in words)]


if __name__ == "__main__":
    print_cells(percentile, idle, timers, replay, explanations)
