"""Faults of user-defined functions that are found when a pipeline is built, and functions that must not be rejected."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest
from attrs import field, frozen
from flowalg_reference import run_batch

from flowalg import Count, PCollection, Source, Sum
from flowalg.errors import (
    ArgumentError,
    ElementError,
    KeyedCollectionError,
    RecordTypeError,
    UserFunctionError,
)
from tests.support.scores import NOON, POINTS, SCORES, Score

FIELDS = "its fields are team, points, at"


def shout(score: Score) -> str:
    """Reads an attribute that scores lack."""
    return score.name.upper()  # type: ignore[attr-defined,no-any-return]


MISSING: dict[str, tuple[Callable[[], object], str]] = {
    "in a map": (
        lambda: SCORES.map(lambda s: s.pionts).combine_globally(Sum()),  # type: ignore[attr-defined]
        f"reads pionts of Score, which has no such attribute; {FIELDS}; did you mean points?",
    ),
    "in a function that a lambda calls": (
        lambda: SCORES.map(lambda s: shout(s)).combine_globally(Count()),
        f"shout at tests/core/test_early_failures.py:28 reads name of Score, which has no such attribute; {FIELDS}",
    ),
    "in one branch": (
        lambda: SCORES.filter(lambda s: s.points > 0 and s.won).combine_globally(Count()),  # type: ignore[attr-defined]
        f"reads won of Score, which has no such attribute; {FIELDS}",
    ),
    "in a combiner": (
        lambda: SCORES.key_by(lambda s: s.team).combine_per_key(Sum.of(lambda s: s.point)),  # type: ignore[attr-defined]
        f"reads point of Score, which has no such attribute; {FIELDS}; did you mean points?",
    ),
    "in an event time": (
        lambda: Source("scores", Score, event_time=lambda s: s.time),  # type: ignore[attr-defined]
        f"reads time of Score, which has no such attribute; {FIELDS}",
    ),
    "of a pair": (
        lambda: POINTS.map(lambda pair: pair.val).combine_globally(Sum()),  # type: ignore[attr-defined]
        "reads val of KV[str, int], which has no such attribute; its fields are key, value; did you mean value?",
    ),
    "as a method": (
        lambda: SCORES.map(lambda s: s.total()).combine_globally(Sum()),  # type: ignore[attr-defined]
        f"reads total of Score, which has no such attribute; {FIELDS}",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_field_fails_when_the_pipeline_is_built(name: str) -> None:
    """The message has the function, the line, the attribute, the record's fields, and a similar name."""
    build, message = MISSING[name]
    with pytest.raises(UserFunctionError) as caught:
        build()
    text = str(caught.value)
    assert "tests/core/test_early_failures.py:" in text
    assert text.endswith(message)


@frozen
class Rich:
    """A record with attributes that are not fields."""

    points: int
    at: datetime
    bonus = 3

    @property
    def double(self) -> int:
        """Twice the points."""
        return 2 * self.points

    def plus(self, more: int) -> int:
        """The points and more."""
        return self.points + more


@frozen
class Dynamic:
    """A record that computes attributes."""

    points: int
    at: datetime

    def __getattr__(self, name: str) -> int:
        return self.points


@frozen(slots=False)
class Open:
    """A record that stores an attribute without a field."""

    points: int
    at: datetime = field(default=NOON)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "extra", self.points)


RICH = Source("rich", Rich, event_time=lambda r: r.at)
DYNAMIC = Source("dynamic", Dynamic, event_time=lambda d: d.at)
OPEN = Source("open", Open, event_time=lambda o: o.at)

LEGAL: dict[str, tuple[PCollection[object], Source[object], object]] = {
    "a property": (RICH.map(lambda r: r.double), RICH, Rich(1, NOON)),
    "a method": (RICH.map(lambda r: r.plus(1)), RICH, Rich(1, NOON)),
    "a class attribute": (RICH.map(lambda r: r.bonus), RICH, Rich(1, NOON)),
    "a method of every object": (RICH.map(lambda r: r.__hash__()), RICH, Rich(1, NOON)),
    "a computed attribute": (DYNAMIC.map(lambda d: d.anything), DYNAMIC, Dynamic(1, NOON)),
    "a stored attribute": (OPEN.map(lambda o: getattr(o, "extra")), OPEN, Open(1)),  # noqa: B009
    "a stored attribute, read plainly": (OPEN.map(lambda o: o.extra), OPEN, Open(1)),  # type: ignore[attr-defined]
    "hasattr": (
        RICH.map(lambda r: r.left if hasattr(r, "left") else 0),  # pyright: ignore[reportAttributeAccessIssue]
        RICH,
        Rich(1, NOON),
    ),
    "isinstance": (
        RICH.map(lambda r: r.anything if isinstance(r, Dynamic) else 0),
        RICH,
        Rich(1, NOON),
    ),
    "a value of another class": (
        RICH.map(lambda r: json.loads('{"a": 1}').get("a")),
        RICH,
        Rich(1, NOON),
    ),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_attribute_is_not_rejected(name: str) -> None:
    """An attribute that exists without being a field can be read, and so can one behind a test for it."""
    collection, source, record = LEGAL[name]
    (pane,) = run_batch(collection.combine_globally(Count()), {source: [record]}).panes
    assert pane.element == 1


def test_a_result_of_another_type_fails_when_the_pipeline_is_built() -> None:
    """A filter returns a bool, a flat_map an iterable, and with_timestamps a datetime, where the types are known."""
    with pytest.raises(ElementError, match=r"the result of filter\(.*\) must be a bool; its type is int"):
        SCORES.filter(lambda s: s.points).combine_globally(Count())  # type: ignore[arg-type,return-value]
    with pytest.raises(ElementError, match=r"the result of flat_map\(.*\) must be an iterable of elements"):
        SCORES.flat_map(lambda s: s.points).combine_globally(Count())  # type: ignore[arg-type,return-value]
    with pytest.raises(
        ElementError, match=r"the result of with_timestamps\(.*\) must be a datetime; its type"
    ):
        SCORES.with_timestamps(lambda s: s.points)  # type: ignore[arg-type,return-value]


def test_keys_must_be_hashable() -> None:
    """A grouping rejects keys that are lists or sets, alone or inside a tuple."""
    for key in (lambda s: [s.team], lambda s: (s.points, [s.team])):
        with pytest.raises(KeyedCollectionError, match="needs keys that are hashable, and these are"):
            SCORES.key_by(key).combine_per_key(Count())
    with pytest.raises(KeyedCollectionError, match="needs keys that are hashable"):
        SCORES.map(lambda s: [s.team]).distinct()


def test_another_class_is_not_an_element_type() -> None:
    """The message says how to define a record class."""
    for cls in (dict, type("Plain", (), {})):
        with pytest.raises(RecordTypeError, match=r"use @dataclass\(frozen=True\)"):
            Source("s", cls, event_time=lambda element: NOON)


def test_sums_of_records_name_the_field() -> None:
    """``Sum()`` of records, and ``Sum`` with a function, are errors that show ``Sum.of``."""
    by_team = SCORES.key_by(lambda s: s.team)
    with pytest.raises(RecordTypeError) as caught:
        by_team.combine_per_key(Sum())  # type: ignore[arg-type]
    assert str(caught.value) == (
        "Sum does not accept values of type Score; it accepts int, float and Decimal; for a field, use "
        "Sum.of(lambda score: score.points)"
    )
    with pytest.raises(
        ArgumentError, match=r"Sum\(\.\.\.\) must be called without arguments; Sum.of\(f\) applies"
    ):
        Sum(lambda score: score.points)  # type: ignore[call-arg]
