"""Windows of Bytewax over the steps of a feed, whose watermark is the greatest event time of a key."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.operators import windowing as win
from bytewax.testing import TestingSink, TestingSource, run_main
from feed import BASE, WINDOW, Step

START = datetime.fromtimestamp(BASE, UTC)
SECOND = timedelta(seconds=1)
MINUTES = win.TumblingWindower(length=WINDOW * SECOND, align_to=START)
SESSIONS = win.SessionWindower(gap=WINDOW * SECOND)
# The system's clock stands still, so that only elements advance the watermark.
CLOCK = win.EventClock(lambda value: value[1], wait_for_system_duration=0 * SECOND, now_getter=lambda: START)


def items(steps: Iterable[Step]) -> list:
    """Returns the elements; a watermark is an element of 0 of every key, since a key has a watermark of its own."""
    steps = list(steps)
    keys = sorted({step.key for step in steps if step.key})
    return [
        (key, (step.value, START + step.at * SECOND))
        for step in steps
        for key in ([step.key] if step.key else keys)
    ]


def collect(build, given: list) -> list:
    """Returns the items of the stream that ``build`` makes of the keyed values, in order."""
    found: list = []
    flow = Dataflow("flow")
    stream = build(op.input("in", flow, TestingSource(given)))
    op.output("out", stream, TestingSink(found))
    run_main(flow)
    return found


def sums(stream, windower=MINUTES):
    """Returns the windowed sums: their results, their late elements and their windows."""

    def add(total, value):
        return total + value[0]

    return win.fold_window("sums", stream, CLOCK, windower, lambda: 0, add, lambda left, right: left + right)


def first(rows: list) -> list:
    """Returns the values of the first minute."""
    return [value for _, (number, value) in rows if number == 0]
