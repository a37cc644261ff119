"""The physical plans of representative pipelines: columns read, shuffles and sorts.

These tests catch waste that does not change results. The plans are without adaptive execution, which shows reused
exchanges only after a query has run.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from attrs import frozen
from flowalg_spark import batch
from flowalg_spark.batch import windows
from pyspark.sql import DataFrame, SparkSession

from flowalg import (
    KV,
    CalendarDays,
    Count,
    FixedWindows,
    Max,
    Mean,
    PCollection,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
)
from tests.support.scores import NOON

MINUTE = timedelta(minutes=1)
FIXED = FixedWindows(MINUTE)
LARGE = 2**61


@frozen
class Place:
    """A place, of which most queries read one field."""

    city: str
    floor: int


@frozen
class Visit:
    """A visit, with more fields than any query reads."""

    team: str
    points: int
    note: str | None
    other: str
    first: bool
    place: Place
    at: datetime


VISITS = Source("visits", Visit, event_time=lambda v: v.at)
POINTS = VISITS.key_by(lambda v: v.team).map_values(lambda v: v.points)
PER_MINUTE = POINTS.window(FIXED).combine_per_key(Sum())


@pytest.fixture(scope="module")
def visits(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataFrame]:
    """Visits in a Parquet file, in a session without adaptive execution."""
    path = str(tmp_path_factory.mktemp("plans") / "visits")
    rows = [
        ("a", 1, None, "x", True, ("Rome", 2), NOON),
        ("b", 2, "n", "y", False, ("Oslo", 3), NOON + MINUTE),
    ]
    types = (
        "team string, points long, note string, other string, first boolean, "
        "place struct<city: string, floor: long>, at timestamp"
    )
    spark.createDataFrame(rows, types).write.parquet(path)
    settings = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.maxMetadataStringLength": "10000",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark.read.parquet(path)
    for name, old in before.items():
        spark.conf.set(name, str(old))


def plan_of(frame: DataFrame) -> str:
    """Returns the physical plan, as ``explain`` prints it."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        frame.explain(mode="formatted")
    return printed.getvalue().split("== Physical Plan ==")[1]


def operators(plan: str) -> Counter[str]:
    """Returns the number of operators of each name in a plan."""
    tree = plan.strip().split("\n\n")[0]
    return Counter(re.findall(r"(\w+)(?: \w+)* +\(\d+\)", tree))


def read_by(plan: str) -> list[str]:
    """Returns the columns that each scan reads."""
    return re.findall(r"ReadSchema: struct<(.*)>", plan)


def compiled_plan(pipeline: PCollection[object], visits: DataFrame) -> str:
    """Returns the plan of a pipeline."""
    return plan_of(batch.compile(pipeline, {VISITS: visits}))


READ = [
    (PER_MINUTE, "team:string,points:bigint,at:timestamp"),
    (VISITS.key_by(lambda v: v.team).combine_per_key(Count()), "team:string,at:timestamp"),
    (
        VISITS.key_by(lambda v: v.place.city).combine_per_key(Count()),
        "place:struct<city:string>,at:timestamp",
    ),
    (
        VISITS.filter(lambda v: v.note is None).map(lambda v: v.points).combine_globally(Max()),
        "points:bigint,note:string,at:timestamp",
    ),
    (
        VISITS.key_by(lambda v: (v.team, v.place.floor))
        .window(Sessions(MINUTE))
        .combine_per_key(Sum.of(lambda v: v.points), Count()),
        "team:string,points:bigint,place:struct<floor:bigint>,at:timestamp",
    ),
]


@pytest.mark.parametrize(("pipeline", "columns"), READ, ids=[columns for _, columns in READ])
def test_only_the_fields_that_are_used_are_read(
    visits: DataFrame, pipeline: PCollection[object], columns: str
) -> None:
    """A scan does not read fields, nested ones included, that no function uses."""
    assert read_by(compiled_plan(pipeline, visits)) == [columns]


PUSHED = [
    (VISITS.filter(lambda v: v.points > 1), "Or(GreaterThan(points,1),IsNull(points))"),
    (
        VISITS.map(lambda v: (v.team, v.points)).filter(lambda pair: pair[0] == "a" and pair[1] * 2 > 3),
        "Or(EqualTo(team,a),IsNull(team))",
    ),
    (VISITS.filter(lambda v: v.place.floor < 3), "Or(LessThan(place.floor,3),IsNull(place.floor))"),
    (VISITS.filter(lambda v: v.note is None), "IsNull(note)"),
    (VISITS.filter(lambda v: v.first), "Or(EqualTo(first,true),IsNull(first))"),
    (
        VISITS.filter(lambda v: v.at >= NOON),
        f"Or(GreaterThanOrEqual(at,{NOON:%Y-%m-%d %H:%M:%S}.0),IsNull(at))",
    ),
]


@pytest.mark.parametrize(("filtered", "pushed"), PUSHED, ids=[pushed for _, pushed in PUSHED])
def test_a_filter_is_pushed_down_to_the_scan(
    visits: DataFrame, filtered: PCollection[object], pushed: str
) -> None:
    """Comparisons with constants are pushed down; the scan keeps rows with an invalid null, which fail the query."""
    plan = compiled_plan(filtered.key_by(lambda element: 0).combine_per_key(Count()), visits)
    assert f"PushedFilters: [{pushed}]" in plan


def test_a_filter_after_a_step_that_can_fail_is_not_pushed_down(visits: DataFrame) -> None:
    """A filter after a step that can raise does not hide the rows on which it does."""
    doubled = VISITS.map(lambda v: KV(v.points * LARGE, v.team)).filter(lambda pair: pair.value == "a")
    assert "PushedFilters" not in compiled_plan(doubled.combine_per_key(Count()), visits)


ONE_SHUFFLE = {
    "fixed windows": PER_MINUTE,
    "several aggregates": POINTS.window(FIXED).combine_per_key(Sum(), Mean(), Max(), Count()),
    "lifted steps": VISITS.filter(lambda v: v.points > 1)
    .map(lambda v: KV(v.place, v.points + 1))
    .map_values(lambda n: -n)
    .window(FIXED)
    .combine_per_key(Sum()),
    "Python steps": VISITS.map(lambda v: KV(v.team.swapcase(), v.points), result=KV[str, int])
    .window(FIXED)
    .combine_per_key(Sum()),
    "distinct": VISITS.map(lambda v: v.team).distinct(),
    "the same grouping again": PER_MINUTE.combine_per_key(Max()),
}


def test_steps_in_python_that_follow_one_another_are_one_pass(visits: DataFrame) -> None:
    """One process runs all of them; with dead letters they take whole elements."""
    named = VISITS.filter(lambda v: v.team.swapcase() != "").map(
        lambda v: KV(v.team.swapcase(), v.points), result=KV[str, int]
    )
    sums = named.filter(lambda pair: pair.key.swapcase() != "A").combine_per_key(Sum())
    plan = plan_of(batch.compile(sums, {VISITS: visits}, dead_letters=True))
    assert operators(plan)["MapInArrow"] == 1


@pytest.mark.parametrize("name", ONE_SHUFFLE)
def test_a_grouping_is_one_shuffle(visits: DataFrame, name: str) -> None:
    """Element-wise steps do not shuffle, and Spark's own aggregates do not sort."""
    by_operator = operators(compiled_plan(ONE_SHUFFLE[name], visits))
    assert (by_operator["Exchange"], by_operator["Sort"]) == (1, 0)
    assert by_operator["HashAggregate"] >= 2


def test_sliding_windows_shuffle_partial_results_of_slices(visits: DataFrame) -> None:
    """There is one shuffle by slice and one by window, which has fewer rows, and no sort."""
    by_operator = operators(
        compiled_plan(POINTS.window(SlidingWindows(2 * MINUTE, MINUTE)).combine_per_key(Mean()), visits)
    )
    assert (by_operator["Exchange"], by_operator["Sort"]) == (2, 0)


def test_sessions_are_one_shuffle_and_one_sort(visits: DataFrame) -> None:
    """Rows are sorted by key and event time to find sessions; the aggregation needs no further shuffle."""
    by_operator = operators(compiled_plan(POINTS.window(Sessions(MINUTE)).combine_per_key(Sum()), visits))
    assert (by_operator["Exchange"], by_operator["Sort"]) == (1, 1)


def test_a_second_grouping_by_window_is_one_more_shuffle(visits: DataFrame) -> None:
    """A sum per key and minute, and then the maximum of each minute, are two shuffles without a sort."""
    most = PER_MINUTE.map(lambda pair: pair.value).combine_globally(Max())
    by_operator = operators(compiled_plan(most, visits))
    assert (by_operator["Exchange"], by_operator["Sort"]) == (2, 0)


def test_a_join_shuffles_each_side_once(visits: DataFrame) -> None:
    """Sides that are already grouped by the same key and windows have no further shuffle."""
    raw = POINTS.window(FIXED)
    counts = raw.combine_per_key(Count())
    for joined in (raw.inner_join(raw.map_values(lambda n: -n)), PER_MINUTE.left_join(counts)):
        by_operator = operators(compiled_plan(joined, visits))
        assert (by_operator["SortMergeJoin"], by_operator["Exchange"] + by_operator["ReusedExchange"]) == (
            1,
            2,
        )


def test_a_side_input_is_broadcast(visits: DataFrame) -> None:
    """A singleton and a map are broadcast, and the elements are not shuffled."""
    total = VISITS.map(lambda v: v.points).window(FIXED).combine_globally(Sum()).as_singleton(default=0)
    shares = VISITS.map_with(total, lambda v, all_: KV(v.team, v.points - all_)).combine_per_key(Sum())
    most = POINTS.combine_per_key(Max()).as_map()
    tops = (
        VISITS.filter_with(most, lambda v, maxima: maxima[v.team] == v.points)
        .map(lambda v: v.team)
        .distinct()
    )
    totals = VISITS.map_with(most, lambda v, maxima: KV(v.team, sum(maxima.values())), result=KV[str, int])
    for pipeline, joins, nested, shuffles in (
        (shares, 1, 0, 3),
        (tops, 1, 1, 4),
        (totals.combine_per_key(Max()), 0, 1, 3),
    ):
        by_operator = operators(compiled_plan(pipeline, visits))
        assert (by_operator["BroadcastHashJoin"], by_operator["BroadcastNestedLoopJoin"]) == (joins, nested)
        assert (by_operator["BroadcastExchange"], by_operator["Exchange"]) == (joins + nested, shuffles)


def test_a_collection_with_two_readers_is_shuffled_once(visits: DataFrame) -> None:
    """A self-join, and two outputs of one collection, compute the collection once in a query."""
    itself = PER_MINUTE.inner_join(PER_MINUTE.map_values(lambda n: n + 1))
    by_operator = operators(compiled_plan(itself, visits))
    assert (by_operator["Exchange"], by_operator["ReusedExchange"], by_operator["Scan"]) == (1, 1, 1)
    in_python = VISITS.map(lambda v: KV(v.team.swapcase(), v.points), result=KV[str, int])
    per_minute = in_python.window(FIXED).combine_per_key(Sum())
    most = per_minute.map(lambda pair: pair.value).combine_globally(Max())
    sums, maxima = batch.compile({"sums": per_minute, "most": most}, {VISITS: visits}).values()
    by_operator = operators(plan_of(sums.select("value").union(maxima.select("value"))))
    assert by_operator["ReusedExchange"] == 1
    assert by_operator["ArrowEvalPython"] == 1


def test_calendar_windows_are_looked_up_in_a_table(visits: DataFrame) -> None:
    """No row goes to Python for its calendar window: Spark joins it with the table of the windows of all time."""
    windowed = POINTS.window(CalendarDays("Asia/Tokyo")).combine_per_key(Sum())
    by_operator = operators(compiled_plan(windowed, visits))
    names = ("ArrowEvalPython", "MapInArrow", "Exchange", "BroadcastHashJoin")
    assert tuple(by_operator[name] for name in names) == (0, 0, 1, 1)


def test_one_function_of_the_event_times_computes_windows_of_unknown_clocks(
    visits: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no table of the windows is known, Python receives a column for them, and not the rows."""
    monkeypatch.setattr(windows, "calendar_blocks", lambda _: None)
    windowed = POINTS.window(CalendarDays("Asia/Tokyo")).combine_per_key(Sum())
    by_operator = operators(compiled_plan(windowed, visits))
    names = ("ArrowEvalPython", "MapInArrow", "Exchange", "BroadcastHashJoin")
    assert tuple(by_operator[name] for name in names) == (1, 0, 1, 0)


def test_python_receives_rows_of_generated_code(visits: DataFrame, tmp_path: Path) -> None:
    """Spark converts the batches of Parquet to rows before a function in Python, which is faster than after it."""
    visits.write.parquet(str(tmp_path / "visits"))
    recorded = visits.sparkSession.read.parquet(str(tmp_path / "visits"))
    in_python = VISITS.map(lambda v: KV(v.team.swapcase(), v.points), result=KV[str, int])
    tree = compiled_plan(in_python, recorded).strip().split("\n\n")[0]
    names = re.findall(r"(\w+)(?: \w+)* +\(\d+\)", tree)
    assert names[names.index("ArrowEvalPython") + 1 :] == ["Filter", "ColumnarToRow", "Scan"]


def test_explain_shows_the_sql_of_lifted_steps(visits: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    """A step is a line of SQL over the columns of its elements."""
    pipeline = VISITS.filter(lambda v: v.first and v.points > 3).map(lambda v: (v.place.city, v.note is None))
    batch.compile(pipeline, {VISITS: visits}).explain()
    lines = capsys.readouterr().out.splitlines()
    assert "    WHERE first AND 3L < points" in lines
    assert "    SELECT `place/city` AS _1, note IS NULL AS _2" in lines
