"""Names of parts of a pipeline: each is text that every engine can write, or a named error where it is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest
from flowalg_reference import Reference

from flowalg import (
    BoundedOutOfOrderness,
    PCollection,
    PTransform,
    Source,
    Timeline,
    Window,
    combiner,
    from_json,
    ptransform,
    to_json,
)
from flowalg.computations import Computation, EventTimer, Transition
from flowalg.errors import ArgumentError, DocumentError
from flowalg.runs import Signal
from flowalg.triggers import AtSignal
from flowalg.watermarks import CustomPolicy
from flowalg.windows import CustomWindows
from tests.support.scores import NOON, SCORES, Score, minute

LONE = "caf\udce9"
"""Text that UTF-8 cannot encode."""


def at_of(score: Score) -> datetime:
    """Returns the time of a score."""
    return score.at


NAMED: dict[str, Callable[[str], object]] = {
    "source": lambda name: Source(name, Score, event_time=at_of),
    "transform": lambda name: PTransform.of(Score, lambda scores: scores.map(lambda s: s.team), name=name),
    "decorated transform": lambda name: ptransform(name=name),
    "label": lambda name: SCORES.apply(lambda scores: scores, label=name),
    "output": lambda name: Reference().run({name: SCORES}, {}),
    "combiner": lambda name: combiner(zero=0, add=lambda a, v: a, merge=lambda a, b: a, name=name),
    "computation": lambda name: Computation(
        initial=0, on_element=lambda state, pair, clocks: Transition(state), name=name
    ),
    "policy": lambda name: CustomPolicy(name, lambda clock: None),
    "windows": lambda name: CustomWindows(name, lambda point, key: list[Window]()),
    "trigger": lambda name: AtSignal(name),
    "signal": lambda name: Signal(name, "red"),
    "signal of an instant": lambda name: Timeline[Score]().at(NOON, signals=[name]),
    "timer": lambda name: EventTimer(name, NOON),
    "partition": lambda name: Timeline.from_records(
        SCORES,
        [Score("red", 1, NOON)],
        processing_time=at_of,
        watermark=BoundedOutOfOrderness(minute(1) - NOON),
        partition=lambda score: name,
    ),
}


@pytest.mark.parametrize("named", NAMED.values(), ids=NAMED.keys())
def test_a_name_has_no_lone_surrogate(named: Callable[[str], object]) -> None:
    """A name that UTF-8 cannot encode is an error where it is given, which shows it with an escape."""
    with pytest.raises(
        ArgumentError, match=r"must be text without lone surrogates.*; got 'caf\\udce9' \(str\)"
    ) as error:
        named(LONE)
    assert str(error.value).encode()


@pytest.mark.parametrize("name", ["", LONE])
def test_the_name_of_a_source_in_a_document_is_one(name: str) -> None:
    """A document whose source has no valid name is an error with its path."""
    source = Source("given", Score, event_time=at_of)
    document = json.loads(to_json(source))
    text = json.dumps(document).replace('"given"', json.dumps(name))
    with pytest.raises(DocumentError, match=r"nodes\[0\].*Source\.name must be"):
        from_json(text, PCollection[object])
