"""``flowalg why`` prints the same from the columns of a file as from all of its records, bad data included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve, frozen
from flowalg_columns.tables import record_table, records_in
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import durations, readings, watermark_policies
from flowalg_reference.debugging.history import TimelineHistory
from flowalg_reference.debugging.selection import Selection, separable_grouping
from flowalg_tools.cli import main, why
from flowalg_tools.recorded import UnsuitedDataError, column_history
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    KV,
    Aggregate,
    Count,
    PCollection,
    ProcessingTime,
    Source,
    Sum,
    Timeline,
    Window,
    flatten,
)
from flowalg.data.time import EventTime
from flowalg.pipeline.nodes import GroupingNode
from flowalg.watermarks import ProcessingTimeLag, WatermarkPolicy
from flowalg.windows.window import GLOBAL_WINDOW
from tests.support.depth import a_few

MINUTE = 60_000_000
_CACHE: dict[str, str] = {}


def opaque(reading: Reading) -> str:
    """Returns a key that only Python computes."""
    return _CACHE.setdefault(reading.key, reading.key)


def is_positive(pair: KV[str, int]) -> bool:
    """Whether the value is positive, which only Python computes."""
    return pair.value > len(_CACHE) - len(_CACHE)


def grouping_of(
    values: PCollection[KV[Any, Any]], combiner: Aggregate[Any, Any] | None = None
) -> GroupingNode:
    """Returns the grouping of some values by key."""
    grouping = separable_grouping(values.combine_per_key(combiner or Sum()).node)
    assert grouping is not None
    return grouping


GROUPINGS: Sequence[GroupingNode] = [
    grouping_of(VALUES),
    grouping_of(VALUES.filter(lambda pair: pair.value > 0).map(lambda pair: KV(pair.key + "b", pair.value))),
    grouping_of(VALUES.map(lambda pair: KV("all", pair.value))),
    grouping_of(READINGS.map(lambda reading: KV(reading.key, 1 + reading.value))),
    grouping_of(READINGS.key_by(opaque).map_values(lambda reading: reading.value)),
    grouping_of(VALUES.filter(is_positive)),
    grouping_of(READINGS.key_by(opaque), Count()),
    grouping_of(VALUES.flat_map(lambda pair: [pair] * pair.value)),
    grouping_of(flatten(VALUES, VALUES.map(lambda pair: KV("all", pair.value)))),
    grouping_of(READINGS.with_timestamps(lambda reading: reading.seen).key_by(opaque), Count()),
    grouping_of(READINGS.key_by(lambda reading: (reading.value, reading.at)), Count()),
]
"""Groupings with keys that are lifted or not, texts or tuples, with filters and constants."""


@pytest.mark.long
@settings(max_examples=2 * settings().max_examples)
@given(
    st.lists(readings(), min_size=1, max_size=12),
    watermark_policies().map(
        lambda policy: evolve(
            policy, percentiles=(), lag_percentiles=(), idle_after=None, partitions=frozenset()
        )
    ),
    st.none() | durations(1, 9),
    st.booleans(),
    st.sampled_from(GROUPINGS),
    st.data(),
)
def test_the_history_of_columns_is_that_of_their_records(
    records: list[Reading],
    policy: WatermarkPolicy,
    every: timedelta | None,
    ends: bool,
    grouping: GroupingNode,
    data: st.DataObject,
) -> None:
    """Clocks, event times, keys, and the instants of selected elements are those of ``Timeline.from_records``."""
    timeline = Timeline.from_records(
        READINGS,
        records,
        processing_time=lambda reading: reading.seen,
        watermark=policy,
        every=every,
        ends=ends,
    )
    expected = TimelineHistory({"readings": timeline})
    table = record_table(READINGS, records)
    history = column_history(READINGS, grouping, table, "seen", policy, every=every, ends=ends)
    assert list(history.times) == expected.times
    assert list(history.watermarks) == expected.watermarks
    until = ProcessingTime(
        data.draw(st.sampled_from(expected.times)) + data.draw(st.integers(-2, 2)) * MINUTE
    )
    last, same = expected.latest("readings", until), history.latest("readings", until)
    assert (last is None) == (same is None)
    if last is not None and same is not None:
        assert evolve(last, elements=()) == same
        assert dict(last.reached) == dict(same.reached)
    first, end = sorted(data.draw(st.tuples(*[st.integers(0, len(expected.times))] * 2)))
    arrivals = list(expected.arrivals(grouping, 0, len(expected.times)))
    assert Counter(history.arrivals(grouping, first, end)) == Counter(expected.arrivals(grouping, first, end))
    start = EventTime(min(point for _, point in arrivals) if arrivals else expected.times[0])
    span = Window(start, EventTime(start + data.draw(st.integers(1, 20)) * MINUTE))
    assert set(history.keys_within(grouping, span)) == set(expected.keys_within(grouping, span))
    for point in (span.start, span.end, EventTime(span.end + MINUTE)):
        assert history.first_event_time(grouping, point) == expected.first_event_time(grouping, point)
        assert history.last_event_time(grouping, point) == expected.last_event_time(grouping, point)
    keys = data.draw(st.none() | st.frozensets(st.sampled_from([*{key for key, _ in arrivals}, *"ab"])))
    if keys is not None and arrivals and not isinstance(arrivals[0][0], str):
        keys = frozenset(key for key in keys if not isinstance(key, str))
    selection = Selection(keys, data.draw(st.sampled_from([None, (span,), (span, GLOBAL_WINDOW)])))
    selected, all_of_them = history.select(grouping, selection), expected.select(grouping, selection)
    assert list(selected.busy) == list(all_of_them.busy)
    for number in range(len(expected.times)):
        instant, original = selected.at(number), all_of_them.at(number)
        assert instant.clocks == original.clocks
        assert set(instant.records("readings")) <= set(original.records("readings"))


@frozen
class Varied:
    """A record with a field of each kind that columns hold."""

    key: str
    amount: Decimal
    sizes: list[int]
    mean: float | None
    taken: timedelta
    at: datetime
    again: datetime | None
    raw: bytes
    good: bool


VARIED = Source("varied", Varied, event_time=lambda record: record.at)


def test_records_from_columns_equal_those_of_the_file() -> None:
    """Each record of an instant has the values of the record in the file, and their types."""
    at = datetime(2024, 1, 1, tzinfo=UTC)
    one = Varied("a", Decimal("1.5"), [1, 2], None, timedelta(seconds=3), at, None, b"x", good=True)
    other = Varied("a", Decimal(2), [], 2.0, timedelta(0), at + timedelta(hours=1), at, b"", good=False)
    grouping = grouping_of(VARIED.key_by(lambda record: record.key), Count())
    table = record_table(VARIED, [other, one])
    policy = ProcessingTimeLag(timedelta(0))
    history = column_history(VARIED, grouping, table, "at", policy, every=None, ends=True)
    selected = history.select(grouping, Selection(frozenset("a")))
    records = [record for number in selected.busy for record in selected.at(number).records("varied")]
    assert records == records_in(VARIED, record_table(VARIED, [one, other]))
    assert list(map(repr, records)) == list(map(repr, records_in(VARIED, record_table(VARIED, [one, other]))))
    nulls = table.set_column(2, "sizes", pa.array([[1, None], []], pa.list_(pa.int64())))
    with pytest.raises(UnsuitedDataError):
        column_history(VARIED, grouping, nulls, "at", policy, every=None, ends=True)


def test_data_that_records_must_be_made_of_are_unsuited() -> None:
    """A policy with percentiles, no record, an invalid time, and a failing function need the records."""
    at = datetime(2024, 1, 1, tzinfo=UTC)
    record = Reading("a", 0, at, at)

    def history(
        records: list[Reading], grouping: GroupingNode, policy: WatermarkPolicy, column: str = "seen"
    ) -> object:
        table = record_table(READINGS, records)
        return column_history(READINGS, grouping, table, column, policy, every=None, ends=True)

    plain, policy = GROUPINGS[0], ProcessingTimeLag(timedelta(0))
    failing = grouping_of(READINGS.map(lambda reading: KV(reading.key, 1 // reading.value)))
    assert history([record], plain, policy)
    assert history([evolve(record, value=1)], failing, policy)
    attempts: Sequence[Callable[[], object]] = (
        lambda: history([], plain, policy),
        lambda: history([record], plain, evolve(policy, percentiles=(0.5,))),
        lambda: history([record], plain, evolve(policy, partitions={"north"})),
        lambda: history([record], plain, policy, "value"),
        lambda: history([record], plain, policy, "unknown"),
        lambda: history([record], failing, policy),
        lambda: history(
            [record], grouping_of(READINGS.key_by(lambda reading: reading.value / 2), Count()), policy
        ),
    )
    for attempt in attempts:
        with pytest.raises(UnsuitedDataError):
            attempt()


PIPELINES = """
from datetime import datetime, timedelta
from enum import Enum
from attrs import frozen
from flowalg import *
from flowalg.triggers import AfterDelay
from flowalg.watermarks import ProcessingTimeLag

@frozen
class Score:
    team: str
    points: int
    at: datetime

class Color(Enum):
    RED = 1
    BLUE = 2

@frozen
class Colored:
    team: Color
    points: int | None
    at: datetime

MINUTE = timedelta(minutes=1)
SCORES = Source("scores", Score, event_time=lambda s: s.at)
COLORED = Source("scores", Colored, event_time=lambda s: s.at)
SEEN = {}

def opaque(score):
    return SEEN.setdefault(score.team, score.team)

def failing(score):
    return SEEN.setdefault(score.team, score.team) if score.points < 100 else SEEN["nothing"]

EARLY = AtWatermark().with_early_firings(AtPeriod(MINUTE)).with_late_firings(AtCount(1))

def two_minutes(values, trigger=EARLY):
    return values.window(FixedWindows(2 * MINUTE), trigger=trigger, allowed_lateness=5 * MINUTE)

POINTS = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points)
PLAIN = two_minutes(POINTS).combine_per_key(Sum())
OPAQUE = two_minutes(SCORES.key_by(opaque)).combine_per_key(Count())
FAILING = two_minutes(SCORES.key_by(failing)).combine_per_key(Count())
DIVIDING = two_minutes(SCORES.map(lambda s: KV(s.team, 1000 // (s.points - 100)))).combine_per_key(Sum())
FILTERED = two_minutes(POINTS.filter(lambda pair: pair.value > 3)).combine_per_key(Max())
PAIRS = two_minutes(SCORES.key_by(lambda s: (s.team, s.points > 3))).combine_per_key(Count())
FLOATS = two_minutes(SCORES.key_by(lambda s: s.points / 2)).combine_per_key(Count())
SESSIONS = POINTS.window(Sessions(MINUTE), trigger=EARLY, allowed_lateness=FOREVER).combine_per_key(Sum())
SLIDING = POINTS.window(SlidingWindows(2 * MINUTE, MINUTE), allowed_lateness=MINUTE).combine_per_key(Sum())
AGAIN = two_minutes(POINTS, AtWatermark() >> AtWatermark() >> AfterDelay(MINUTE)).combine_per_key(Sum())
COPIES = two_minutes(POINTS.flat_map(lambda pair: [pair, KV("all", pair.value)])).combine_per_key(Sum())
FLATTENED = two_minutes(flatten(POINTS, POINTS.map_values(lambda value: 2 * value))).combine_per_key(Sum())
STAMPED = POINTS.with_timestamps(lambda pair: datetime.fromisoformat("2015-01-01T12:01:00Z"))
MOVED = two_minutes(STAMPED).combine_per_key(Sum())
GROUPED = two_minutes(POINTS).co_group_by_key(two_minutes(POINTS)).map_values(lambda both: len(both[0]))
TWICE = two_minutes(PLAIN, AtWatermark().repeat()).combine_per_key(Count())
COLORS = two_minutes(COLORED.key_by(lambda s: s.team)).combine_per_key(Count())
"""
"""The module of the pipelines that the tests explain."""

ROWS = (
    "red,5,2015-01-01T12:00:30Z,2015-01-01T12:01:30Z",
    "blue,7,2015-01-01T12:01:00Z,2015-01-01T12:02:30Z",
    "red,3,2015-01-01T12:03:00Z,2015-01-01T12:03:30Z",
    "red,9,2015-01-01T12:01:30Z,2015-01-01T12:05:30Z",
    "green,1,2015-01-01T12:01:10Z,2015-01-01T12:03:10Z",
    "blue,2,2015-01-01T12:08:30Z,2015-01-01T12:09:30Z",
    "blue,4,2015-01-01T12:00:30Z,2015-01-01T12:10:30Z",
)
HEADER = "team,points,at,seen"
NAMES = (
    *("PLAIN", "OPAQUE", "FAILING", "DIVIDING", "FILTERED", "PAIRS", "FLOATS", "SESSIONS", "SLIDING"),
    *("AGAIN", "TWICE", "COLORS", "COPIES", "FLATTENED", "MOVED", "GROUPED"),
)
FILES = {
    "good": (HEADER, *ROWS),
    "red and blue": (HEADER, *(row for row in ROWS if not row.startswith("green"))),
    "enums": (HEADER, *(row.upper() for row in ROWS if not row.startswith("green"))),
    "another column": (f"{HEADER},more", *(f"{row},x" for row in ROWS)),
    "hundred": (HEADER, *ROWS, "red,100,2015-01-01T12:00:30Z,2015-01-01T12:03:30Z"),
    "empty": (),
    "header": (HEADER,),
    "no team": ("points,at,seen", *(row.partition(",")[2] for row in ROWS)),
    "no processing time": (HEADER.removesuffix(",seen"), *(row.rpartition(",")[0] for row in ROWS)),
    "null points": (HEADER, *ROWS, "red,,2015-01-01T12:00:30Z,2015-01-01T12:01:30Z"),
    "null time": (HEADER, *ROWS, "red,5,,2015-01-01T12:01:30Z"),
    "null processing time": (HEADER, *ROWS, "red,5,2015-01-01T12:00:30Z,"),
    "text": (HEADER, *ROWS, "red,many,2015-01-01T12:00:30Z,2015-01-01T12:01:30Z"),
    "overflow": (HEADER, *ROWS, f"red,{2**63},2015-01-01T12:00:30Z,2015-01-01T12:01:30Z"),
    "sum overflows": (HEADER, *ROWS, f"red,{2**63 - 1},2015-01-01T12:00:30Z,2015-01-01T12:01:30Z"),
    "end of time": (HEADER, *ROWS, "red,5,9999-12-30T12:00:30Z,2015-01-01T12:01:30Z"),
    "before time": (HEADER, *ROWS, "red,5,2015-01-01T12:00:30Z,0001-01-01T12:01:30Z"),
    "naive time": (HEADER, *ROWS, "red,5,2015-01-01T12:00:30,2015-01-01T12:01:30Z"),
    "short row": (HEADER, *ROWS, "red,5"),
}
"""Files with and without errors, by what they contain."""

QUESTIONS = (
    (),
    ("--key", "red"),
    ("--key", "green"),
    ("--key", "pink"),
    ("--key", "('red', True)"),
    ("--key", "red", "--at", "2015-01-01T12:02:45"),
    ("--key", "blue", "--at", "2015-01-01T12:04:45"),
    ("--key", "blue", "--at", "2015-01-01T12:30:00"),
    ("--key", "red", "--at", "2014-01-01T12:02:45"),
    ("--key", "RED"),
    ("--at", "2015-01-01T12:03:30"),
    ("--at", "2015-01-01T12:00:30"),
    ("--every", "minute", "--key", "blue"),
    ("--unbounded", "--key", "blue", "--at", "2015-01-01T12:11:00"),
    ("--watermark", "Perfect()", "--key", "blue"),
    ("--watermark", "ProcessingTimeLag(minute, percentiles=(0.5,))"),
    ("--window", "2016-01-01T12:00/2016-01-01T12:02"),
    ("--window", "2016-01-01T12:00/2016-01-01T12:02", "--key", "red"),
    ("--window", "2015-01-01T12:00/2015-01-01T12:06", "--key", "red"),
)
"""Options of ``flowalg why``."""


@pytest.fixture
def ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str, Sequence[str]], tuple[int, str, str]]:
    """Runs ``flowalg why`` for a pipeline, a file and options; returns the exit code and both outputs."""
    (tmp_path / "columns_of_files.py").write_text(PIPELINES)
    monkeypatch.chdir(tmp_path)

    def run(pipeline: str, file: str, options: Sequence[str]) -> tuple[int, str, str]:
        (tmp_path / "scores.csv").write_text("\n".join(FILES[file]))
        common = ("--processing-time", "seen", "--window", "2015-01-01T12:00/2015-01-01T12:02")
        watermark = () if "--watermark" in options else ("--watermark", "BoundedOutOfOrderness(minute)")
        code = main(["why", f"columns_of_files:{pipeline}", "scores.csv", *common, *watermark, *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def both_ways(
    ask: Callable[[str, str, Sequence[str]], tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    pipeline: str,
    file: str,
    options: Sequence[str],
) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
    """Returns what the command prints from columns where it can, and from a run of all records."""
    printed = ask(pipeline, file, options)
    with monkeypatch.context() as patched:
        patched.setattr(why, "_explain_columns", lambda *_: None)
        patched.setattr(why, "_explain_selected", lambda *_: None)
        return printed, ask(pipeline, file, options)


@pytest.mark.long
@pytest.mark.parametrize(
    ("pipeline", "file"),
    a_few(
        [
            *((pipeline, "good") for pipeline in NAMES),
            *(
                (pipeline, file)
                for pipeline in ("PLAIN", "OPAQUE", "FAILING", "COLORS", "COPIES")
                for file in FILES
                if file != "good"
            ),
            ("DIVIDING", "hundred"),
            ("SLIDING", "another column"),
            ("GROUPED", "null time"),
        ],
        [
            *((pipeline, "good") for pipeline in ("PLAIN", "OPAQUE", "GROUPED")),
            *(("FAILING", file) for file in FILES),
        ],
    ),
)
def test_why_prints_the_same_from_columns_and_from_records(
    pipeline: str,
    file: str,
    ask: Callable[[str, str, Sequence[str]], tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Explanations, errors and exit codes do not depend on how the file is read."""
    for options in QUESTIONS if file == "good" else QUESTIONS[:2]:
        printed, expected = both_ways(ask, monkeypatch, pipeline, file, options)
        assert printed == expected, options


@pytest.mark.parametrize(
    "pipeline",
    a_few([name for name in NAMES if name not in {"FAILING", "FLOATS", "AGAIN", "TWICE", "COLORS"}], 4),
)
def test_files_are_read_as_columns(
    pipeline: str,
    ask: Callable[[str, str, Sequence[str]], tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file without errors is not read as records, whether the functions are lifted or not."""
    monkeypatch.setattr(why, "read_timelines", None)
    for options in (QUESTIONS[4], QUESTIONS[10]) if pipeline == "PAIRS" else (QUESTIONS[1], QUESTIONS[6]):
        code, printed, error = ask(pipeline, "good", options)
        assert (code, error) == (0, "")
        assert "[2015-01-01T12:00:" in printed
