"""Steps that give event times out of range, and the runs of interpreters over them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Final

import flowalg_reference as reference
import pytest
from attrs import frozen

from flowalg import Count, FixedWindows, Interpreter, PCollection, Source, Timeline, flatten
from flowalg.errors import ArgumentError
from tests.support.scores import NOON


@frozen
class Order:
    """A record with a time that is not its event time."""

    number: int
    due: datetime


ORDERS: Final = Source("orders", Order, event_time=lambda order: NOON)
DUE: Final = ORDERS.with_timestamps(lambda order: order.due)
STEPS: Final[dict[str, PCollection[object]]] = {
    "elements": DUE.map(lambda order: order.number),
    "a filter after them": DUE.filter(lambda order: order.number < 2).map(lambda order: order.number),
    "windows": DUE.key_by(lambda order: order.number)
    .window(FixedWindows(timedelta(hours=1)), allowed_lateness=timedelta(0))
    .combine_per_key(Count()),
    "branches": flatten(
        DUE.map(lambda order: order.number),
        ORDERS.filter(lambda order: order.number > 2).map(lambda order: order.number),
    ),
}
"""Pipelines over event times that are not in range in the second and the third record."""

_TIMELINE: Final = Timeline.batch(
    [
        Order(1, NOON),
        Order(2, datetime(1, 1, 1, tzinfo=UTC)),
        Order(3, datetime(9999, 12, 31, tzinfo=UTC)),
        Order(4, datetime(9999, 12, 30, tzinfo=UTC)),
        Order(5, datetime(9999, 12, 29, tzinfo=UTC)),
    ],
    time=NOON,
)


def require_named(engine: Interpreter, steps: PCollection[object]) -> None:
    """Fails unless a run raises the error of an event time out of range, with the name of its step."""
    message = (
        r"result of with_timestamps\(<lambda> at .*\) must be (a point between 0001-01-03|before MAX_TIME)"
    )
    with pytest.raises(ArgumentError, match=message):
        engine.run(steps, {ORDERS: _TIMELINE})


def require_bad(engine: Interpreter, steps: PCollection[object]) -> None:
    """Fails unless a run with dead letters has the elements, panes and bad records of the reference."""
    expected = reference.ReferenceBatch(dead_letters=True).run(steps, {ORDERS: _TIMELINE})
    run = engine.run(steps, {ORDERS: _TIMELINE})
    assert len(expected.bad_records) == 3
    assert sorted(run.bad_records, key=repr) == sorted(expected.bad_records, key=repr)
    assert Counter(element.element for element in run.elements) == Counter(
        element.element for element in expected.elements
    )
    assert {(pane.window, repr(pane.element)) for pane in run.panes} == {
        (pane.window, repr(pane.element)) for pane in expected.panes
    }
