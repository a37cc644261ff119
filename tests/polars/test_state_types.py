"""State knows its types: a class that does not evolve is an error from the plan and at the start, with both structures.

The classes have one name, and other fields. These tests catch a state that a changed class continues: its
new fields would be ``None``, or missing when a function reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from attrs import frozen
from flowalg_polars import streaming

from flowalg import (
    FOREVER,
    Accumulation,
    AtCount,
    Computation,
    Count,
    FixedWindows,
    Max,
    PCollection,
    Repeat,
    Sum,
    TopN,
    combiner,
)
from flowalg.combiners import Combiner
from flowalg.computations import Clocks, Observed, Transition
from flowalg.data.shapes import shape_of
from flowalg.errors import CheckpointError
from flowalg.evolution.structure import structure_of
from tests.polars.test_streams import stream_of
from tests.support.scores import SCORES

MINUTE = timedelta(minutes=1)


class Before:
    """The classes before a change."""

    class Kind(Enum):
        """A kind of item."""

        LOW = "low"
        HIGH = "high"

    @frozen
    class Item:
        """An item."""

        team: str
        points: int


class Longer:
    """The classes with one more field."""

    @frozen
    class Item:
        """An item."""

        team: str
        points: int
        note: str | None = None


class Renamed:
    """The classes with a field of another name, and an enumeration with another member."""

    class Kind(Enum):
        """A kind of item."""

        LOW = "low"
        TOP = "high"

    @frozen
    class Item:
        """An item."""

        team: str
        score: int


AnyItem: TypeAlias = Any
"""A class of items, or a value of one: the classes have no common type."""

Items = PCollection[Any]
"""Items of one of the classes above."""

OLD: Final = "Item(team: str, points: int)"
NEW: Final = "Item(team: str, score: int)"


def items(item: AnyItem) -> Items:
    """Returns a collection of items."""
    return SCORES.map(lambda score: item(score.team, score.points), result=item)


def by_team(collection: Items) -> Items:
    """Returns items by team, in windows that correct themselves."""
    return windowed(collection.key_by(lambda element: element.team))


def pair_with(item: AnyItem) -> AnyItem:
    """Returns the type of pairs of a text and an item."""
    return tuple[str, item]


def windowed(collection: PCollection[Any]) -> PCollection[Any]:
    """Returns a collection in windows whose panes are corrected."""
    return collection.window(
        FixedWindows(MINUTE),
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=FOREVER,
    )


def keep(item: AnyItem) -> Computation[str, Any, Any, Any]:
    """Returns a computation whose state is an item."""

    def on_element(state: AnyItem, observed: Observed[str, Any], clocks: Clocks) -> Transition[Any, int]:
        return Transition(observed.value, emit=(1,))

    return Computation(initial=item("", 0), on_element=on_element, result=int, name="keep")


def count(state: int, observed: Observed[str, Any], clocks: Clocks) -> Transition[int, int]:
    """Counts the elements of a key."""
    return Transition(state + 1, emit=(state + 1,))


HOLDS: Final[dict[str, Callable[[Any], PCollection[Any]]]] = {
    "lists": lambda item: by_team(items(item)).group_by_key(),
    "keys": lambda item: windowed(items(item).key_by(lambda element: element)).combine_per_key(Count()),
    "values that may be retracted": lambda item: (
        by_team(items(item))
        .group_by_key()
        .map_values(lambda values: values[-1], result=item)
        .combine_per_key(Last())
    ),
    "ranked values in columns": lambda item: by_team(items(item)).combine_per_key(
        TopN(1, by=lambda element: element.team)
    ),
    "nested types": lambda item: (
        by_team(items(item))
        .map_values(lambda element: (element.team, element), result=pair_with(item))
        .group_by_key()
    ),
    "both sides of a join": lambda item: by_team(items(item)).full_join(by_team(items(item))),
    "states of a computation": lambda item: by_team(items(item)).process(keep(item)),
    "elements that wait": lambda item: by_team(items(item)).process(
        Computation(initial=0, on_element=count, name="count"), in_order=True
    ),
    "tuples": lambda item: by_team(items(item)).every(3),
    "a side input": lambda item: SCORES.with_side(
        by_team(items(item)).combine_per_key(TopN(1, by=lambda element: element.team)).as_map()
    ).map(lambda pair: len(pair[1]), result=int),
    "elements that read a side input": lambda item: (
        items(item)
        .with_side(
            SCORES.window(FixedWindows(MINUTE), allowed_lateness=FOREVER)
            .combine_globally(Count())
            .as_singleton(default=0)
        )
        .map(lambda pair: pair[1], result=int)
    ),
}
"""Pipelines whose state has items."""


@frozen
class Last(Combiner[Any, Any, Any]):
    """The last value, which is kept as it is."""

    def zero(self) -> AnyItem:  # noqa: D102
        return None

    def add(self, accumulator: AnyItem, value: AnyItem) -> AnyItem:  # noqa: D102
        return value

    def merge(self, left: AnyItem, right: AnyItem) -> AnyItem:  # noqa: D102
        return left if right is None else right

    def extract(self, accumulator: AnyItem) -> int:  # noqa: D102
        return 0 if accumulator is None else 1


def start(pipeline: PCollection[Any], folder: Path, stop: int | None = None) -> Iterable[object]:
    """Runs a pipeline from its checkpoint, and returns its panes and elements."""
    batches = streaming.batches(pipeline, {SCORES: stream_of()}, checkpoint=folder)
    emitted = list(islice(batches, stop))
    batches.close()
    return [row for batch in emitted for row in (*batch.panes, *batch.elements)]


@pytest.mark.parametrize("holds", HOLDS)
def test_a_changed_record_class_in_the_state_is_an_error(tmp_path: Path, holds: str) -> None:
    """A plan with a structure that does not evolve is not accepted, and the start raises: both show both structures."""
    build = HOLDS[holds]
    start(build(Before.Item), tmp_path, 3)
    assert streaming.plan(build(Before.Item), tmp_path).accepted
    changed = build(Renamed.Item)
    plan = streaming.plan(changed, tmp_path)
    assert not plan.accepted
    with pytest.raises(CheckpointError) as raised:
        start(changed, tmp_path)
    for structure in (OLD, NEW):
        assert structure in str(plan)
        assert structure in str(raised.value)
    assert start(build(Before.Item), tmp_path)


def test_a_state_of_unknown_type_knows_its_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed class is an error from the plan and at the start, if a state has its objects."""

    def on_element(state: AnyItem, observed: Observed[str, Any], clocks: Clocks) -> Transition[Any, int]:
        return Transition(((observed.key, observed.value),), emit=(len(state),))

    pipeline = by_team(items(Before.Item)).process(
        Computation(initial=(), on_element=on_element, result=int, name="pairs")
    )
    start(pipeline, tmp_path, 3)
    monkeypatch.setattr(Before, "Item", Renamed.Item)
    message = f"Item was {OLD} and is now {NEW}"
    assert message in str(streaming.plan(pipeline, tmp_path))
    with pytest.raises(CheckpointError, match=re.escape(message)):
        start(pipeline, tmp_path)


def test_an_accumulator_of_unknown_type_knows_its_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed class is an error from the plan and at the start, if an accumulator has its objects."""

    def add(accumulator: tuple[AnyItem, ...], value: int) -> tuple[AnyItem, ...]:
        return (*accumulator, Before.Item("", value))

    def merge(left: tuple[AnyItem, ...], right: tuple[AnyItem, ...]) -> tuple[AnyItem, ...]:
        return left + right

    def count_items(accumulator: tuple[AnyItem, ...]) -> int:
        return len(accumulator)

    points = by_team(items(Before.Item)).map_values(lambda item: 1, result=int)
    gathered = combiner(zero=(), add=add, merge=merge, extract=count_items, name="gathered")
    pipeline = points.combine_per_key(gathered)
    start(pipeline, tmp_path, 3)
    monkeypatch.setattr(Before, "Item", Renamed.Item)
    message = f"Item was {OLD} and is now {NEW}"
    assert message in str(streaming.plan(pipeline, tmp_path))
    with pytest.raises(CheckpointError, match=re.escape(message)):
        start(pipeline, tmp_path)


HOLDS_NOT: Final[dict[str, Callable[[Any], PCollection[Any]]]] = {
    "sums of a field": lambda item: by_team(items(item)).combine_per_key(
        Sum.of(lambda element: len(element.team))
    ),
    "the greatest of a field": lambda item: by_team(items(item)).combine_per_key(
        Max.of(lambda element: element.team)
    ),
    "ids": lambda item: items(item).deduplicate(by=lambda element: element.team, within=MINUTE),
    "counts of a computation": lambda item: by_team(items(item)).process(
        Computation(initial=0, on_element=count, name="count")
    ),
    "nothing": items,
}
"""Pipelines through which items pass that the state does not have."""


@pytest.mark.parametrize("holds", HOLDS_NOT)
def test_a_record_class_that_the_state_does_not_have_may_change(tmp_path: Path, holds: str) -> None:
    """A field may be added to records of which the state has only what was computed from other fields."""
    build = HOLDS_NOT[holds]
    start(build(Before.Item), tmp_path, 3)
    assert streaming.plan(build(Longer.Item), tmp_path).accepted
    assert start(build(Longer.Item), tmp_path)


def test_the_structure_of_a_type_has_the_members_of_enumerations() -> None:
    """An enumeration is described with its members, since state has their names and values."""
    before, after = (str(structure_of(shape_of(kind))) for kind in (Before.Kind, Renamed.Kind))
    assert before == "Kind(HIGH='high', LOW='low')"
    assert after == "Kind(LOW='low', TOP='high')"
