"""Bad rows, overflows and failing functions in a batch, with the whole message: the transform, the value, the remedy.

These tests catch a null, an overflow or a wrong value that passes as a number, and a message without the transform.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

import pytest
from attrs import evolve, field, frozen
from flowalg_spark import batch
from pyspark.sql import SparkSession

from flowalg import KV, Count, FixedWindows, Max, Mean, PCollection, Sessions, Source, Sum
from flowalg.combiners import reduce_combiner
from tests.support.depth import a_few
from tests.support.scores import NOON

MINUTE = timedelta(minutes=1)


def null(path: str, kind: str) -> str:
    """Returns the message for a null that is not allowed."""
    optional = "if it is not the event time, " if kind == "datetime" else ""
    return (
        f"source 'rows': {path} must be of type {kind}; got null; remove such rows, keep them apart "
        f"with dead_letters=True, or {optional}declare it as {kind} | None"
    )


class Colour(Enum):
    """Two colours."""

    RED = 1
    BLUE = 2


@frozen
class Inner:
    """A nested record."""

    city: str
    sizes: list[int]


@frozen
class Row:
    """A record with a field of each kind that can be bad."""

    key: str
    n: int
    x: float
    colour: Colour
    tags: frozenset[str]
    inner: Inner
    maybe: Inner | None
    at: datetime


TYPES: Final = (
    "key string, n long, x double, colour string, tags array<string>, inner struct<city: string, sizes: array<long>>, "
    "maybe struct<city: string, sizes: array<long>>, at timestamp"
)


@frozen
class Stored:
    """A stored row; all fields are valid by default."""

    key: str | None = "a"
    n: int | None = 1
    x: float = 1.5
    colour: str | None = "RED"
    tags: list[str | None] = field(factory=lambda: ["t"])
    inner: tuple[str | None, list[int | None] | None] | None = ("Rome", [1])
    maybe: tuple[str | None, list[int] | None] | None = None
    at: datetime | None = NOON

    @property
    def columns(self) -> tuple[object, ...]:
        """The values of the columns, in order."""
        return (self.key, self.n, self.x, self.colour, self.tags, self.inner, self.maybe, self.at)


GOOD: Final = Stored()
ROWS = Source("rows", Row, event_time=lambda row: row.at)
BY_KEY = ROWS.key_by(lambda row: row.key)
FIXED = FixedWindows(MINUTE)


def fail(row: Row) -> int:
    """Fails on every row."""
    raise LookupError(f"nothing about {row.key}")


def return_text(row: Row) -> int:
    """Returns a value that is not of the annotated type."""
    words = [str(row.n)]
    words.sort()  # a statement that is not lifted
    return words[0]  # type: ignore[return-value]  # a fault on purpose


def divide_by_zero(row: Row) -> float:
    """Raises Python's own error, in a function that is not lifted."""
    return sum([row.n]) / 0


def naive_time(row: Row) -> datetime:
    """Returns an event time without a time zone."""
    return row.at.replace(tzinfo=None)


def product(left: int, right: int) -> int:
    """Returns a product, which soon overflows."""
    return left * right


TIMES: Final = "source 'rows': the event time must be in [0001-01-03T00:00:00Z, 9999-12-30T00:00:00Z); got "
LARGE: Final = evolve(GOOD, n=2**62)
HERE: Final = "tests/spark/test_bad_rows.py"

BAD: Final[list[tuple[str, PCollection[object], list[Stored], str]]] = [
    (
        "a null in a row that a filter would drop",
        BY_KEY.filter(lambda pair: pair.value.n > 3).combine_per_key(Count()),
        [evolve(GOOD, n=None)],
        null("n", "int"),
    ),
    (
        "a null key",
        BY_KEY.combine_per_key(Count()),
        [evolve(GOOD, key=None)],
        null("key", "str"),
    ),
    (
        "a null in a list",
        BY_KEY.map_values(lambda row: row.inner.sizes).group_by_key(),
        [evolve(GOOD, inner=("Rome", [1, None]))],
        null("inner.sizes[…]", "int"),
    ),
    (
        "a null in a set",
        ROWS.key_by(lambda row: row.tags).combine_per_key(Count()),
        [evolve(GOOD, tags=["a", None])],
        null("tags{…}", "str"),
    ),
    (
        "a null nested record",
        ROWS.key_by(lambda row: row.inner.city).combine_per_key(Count()),
        [evolve(GOOD, inner=None)],
        null("inner.city", "str"),
    ),
    (
        "a null in an optional nested record",
        BY_KEY.map_values(lambda row: row.maybe).group_by_key(),
        [GOOD, evolve(GOOD, maybe=("Rome", None))],
        null("maybe.sizes", "list[int]"),
    ),
    (
        "a name that is not a member of the enum",
        ROWS.key_by(lambda row: row.colour).combine_per_key(Count()),
        [evolve(GOOD, colour="GREEN")],
        "source 'rows': colour must be a member of Colour (RED, BLUE); got GREEN",
    ),
    (
        "a null event time",
        BY_KEY.window(FIXED).combine_per_key(Count()),
        [evolve(GOOD, at=None)],
        null("at", "datetime"),
    ),
    (
        "a null event time that no window reads",
        BY_KEY.combine_per_key(Count()),
        [evolve(GOOD, at=None)],
        null("at", "datetime"),
    ),
    (
        "an event time before the start of time",
        BY_KEY.window(Sessions(MINUTE)).combine_per_key(Count()),
        [evolve(GOOD, at=datetime(1, 1, 2, tzinfo=UTC))],
        f"{TIMES}0001-01-02T00:00:00.000000Z",
    ),
    (
        "an event time after the end of time",
        BY_KEY.group_by_key(),
        [evolve(GOOD, at=datetime(9999, 12, 31, tzinfo=UTC))],
        f"{TIMES}9999-12-31T00:00:00.000000Z",
    ),
    (
        "a sum that exceeds 64 bits",
        BY_KEY.combine_per_key(Sum.of(lambda row: row.n)),
        [LARGE, LARGE],
        "combine_per_key(Sum): a sum overflows 64 bits: integers must lie in [-2**63, 2**63)",
    ),
    (
        "a mean whose sum exceeds 64 bits",
        BY_KEY.combine_per_key(Mean.of(lambda row: row.n)),
        [LARGE, LARGE],
        "combine_per_key(Mean): a sum overflows 64 bits: integers must lie in [-2**63, 2**63)",
    ),
    (
        "a product in Python that exceeds 64 bits",
        BY_KEY.map_values(lambda row: row.n).combine_per_key(
            reduce_combiner(product, zero=1, name="product")
        ),
        [LARGE, LARGE],
        "the result of combine_per_key(product) is 21267647932558653966460912964485513216, which overflows 64 bits: "
        "integers must lie in [-2**63, 2**63)",
    ),
    (
        "a division by zero in Spark",
        BY_KEY.map_values(lambda row: row.x / (row.x - 1.5)).combine_per_key(Sum()),
        [GOOD],
        f"map_values(<lambda> at {HERE}:LINE): ZeroDivisionError: float division by zero",
    ),
    (
        "a division by zero in Python",
        ROWS.map(divide_by_zero).combine_globally(Sum()),
        [GOOD],
        f"map(divide_by_zero at {HERE}:LINE): divide_by_zero at {HERE}:LINE raised ZeroDivisionError: "
        "division by zero; its argument was R",
    ),
    (
        "a function that raises",
        ROWS.map(fail).combine_globally(Sum()),
        [GOOD],
        f"map(fail at {HERE}:LINE): fail at {HERE}:LINE raised LookupError: nothing about a; its argument was Row(",
    ),
    (
        "a function that returns another type",
        ROWS.map(return_text).combine_globally(Sum()),
        [GOOD],
        f"the result of map(return_text at {HERE}:LINE) must be of type int; got '1' (str)",
    ),
    (
        "a predicate that does not return a bool",
        ROWS.filter(lambda row: json.loads(f"[{row.n}]")).map(lambda row: row.n).combine_globally(Sum()),
        [GOOD],
        f"the result of filter(<lambda> at {HERE}:LINE) must be a bool; got [1] (list)",
    ),
    (
        "a naive event time",
        ROWS.with_timestamps(naive_time).map(lambda row: row.n).combine_globally(Sum()),
        [GOOD],
        f"the result of with_timestamps(naive_time at {HERE}:LINE)",
    ),
    (
        "a maximum of NaN",
        BY_KEY.combine_per_key(Max.of(lambda row: row.x)),
        [evolve(GOOD, x=math.nan)],
        "combine_per_key(Max): the input of Max must not be None or NaN; got nan",
    ),
]


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Callable[[PCollection[object], list[Stored]], object]:
    """Runs a batch over stored rows."""

    def over(pipeline: PCollection[object], rows: list[Stored]) -> object:
        frame = spark.createDataFrame([row.columns for row in rows], TYPES)
        return batch.run(pipeline, {ROWS: frame}, time=NOON).panes

    return over


@pytest.mark.spark
@pytest.mark.parametrize(
    ("pipeline", "rows", "message"),
    a_few([case[1:] for case in BAD], [case[1:] for case in BAD[::4]]),
    ids=[case[0] for case in BAD],
)
def test_a_bad_row_or_function_fails_the_query_with_the_whole_message(
    run: Callable[[PCollection[object], list[Stored]], object],
    pipeline: PCollection[object],
    rows: list[Stored],
    message: str,
) -> None:
    """A bad row is neither skipped nor counted: the query fails, and the message has the cause."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # Spark's own type; the message is what is tested
        run(pipeline, rows)
    without_lines = re.sub(rf"({re.escape(HERE)}):\d+", r"\1:LINE", str(caught.value))
    assert message in without_lines


def test_valid_rows_pass(run: Callable[[PCollection[object], list[Stored]], object]) -> None:
    """The same pipelines, except those with a failing function, run over valid rows."""
    faulty = ("division", "function", "predicate", "naive")
    valid = [pipeline for name, pipeline, _, _ in BAD if not any(word in name for word in faulty)]
    assert len(valid) > 12
    for pipeline in valid[1::4]:
        assert run(pipeline, [GOOD, evolve(GOOD, maybe=("Oslo", [2]))])


def test_the_first_and_last_event_times_are_accepted(
    run: Callable[[PCollection[object], list[Stored]], object],
) -> None:
    """Elements at the earliest and at the latest event time are in windows."""
    ends = [datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC) - timedelta(microseconds=1)]
    panes = run(BY_KEY.window(FIXED).combine_per_key(Count()), [evolve(GOOD, at=at) for at in ends])
    assert isinstance(panes, tuple)
    assert [pane.element for pane in panes] == [KV("a", 1), KV("a", 1)]
