"""Sinks without Spark: after any batches, an upsert table has the current panes, and a changelog has all panes.

These tests detect a table that keeps retracted panes, that depends on the division into batches or on repeated
batches, that lacks a batch, and pipelines whose latest values would be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Final

import flowalg_reference as reference
import pytest
from attrs import evolve, frozen
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import dense_timelines, free_timelines, once_triggers, windowing_strategies
from flowalg_laws.strategies.pipelines import GROUPINGS, sum_values
from flowalg_laws.strategies.times import durations
from flowalg_sinks import Changelog, SinkBatch, SinkError, SQLite, Upsert, WrittenBatch, changelog, upsert
from flowalg_sinks.cells import element_columns, to_cells
from flowalg_sinks.drops import drop_rows, drop_table
from flowalg_sinks.exactly_once import require_next_batch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    Max,
    Mode,
    Pane,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
    Window,
    event_time,
    flatten,
)
from flowalg.data.metadata import Timing
from flowalg.data.shapes import shape_of
from flowalg.data.time import processing_time
from flowalg.errors import ArgumentError, ElementError, RecordTypeError, UnsupportedError
from flowalg.runs import Change, Output
from flowalg.runs.current import Current
from flowalg.runs.panes import PaneInfo
from flowalg.windows import WindowingStrategy
from flowalg.windows.strategy import emits_one_pane
from tests.support.cells import from_cells
from tests.support.generated_runs import run_reference, runs
from tests.support.scores import NOON, POINTS, SCORES, Score, minute
from tests.support.sink_cases import Memory, current_panes, rows_of, sort_rows, without_key_text
from tests.support.step_pairs import Inputs, any_pipelines, any_windows, corrections, papers_triggers

MINUTE: Final = timedelta(minutes=1)
EARLY_AND_LATE: Final = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))
LATENESS: Final = timedelta(minutes=9)
MAX_EXAMPLES: Final = 3 * settings().max_examples
"""The number of examples: few generated runs retract every pane of a key and window."""


def batches_of(panes: Sequence[Pane[object]], cuts: Sequence[int]) -> list[Sequence[Pane[object]]]:
    """Divides panes into batches at some positions."""
    bounds = sorted({min(cut, len(panes)) for cut in cuts} | {0, len(panes)})
    return [panes[start:stop] for start, stop in zip([0, *bounds], [*bounds, len(panes)], strict=True)]


def write_batches(sink: Upsert | Changelog, batches: Sequence[Sequence[Pane[object]]], *, times: int) -> None:
    """Writes batches in order, each ``times`` times."""
    for number, batch in enumerate(batches):
        for attempt in range(times):
            assert sink.write(SinkBatch(Output(tuple(batch)), None), WrittenBatch("q", number)) is (
                attempt == 0
            )


def retracting_pipelines() -> SearchStrategy[PCollection[object]]:
    """Retracting groupings in any windows, and in sessions, which retract often."""
    mode = st.just(Accumulation.RETRACTING)
    sessions = durations(1, 3).map(Sessions)
    strategies = windowing_strategies(windows=any_windows(), modes=mode) | windowing_strategies(
        windows=sessions, trigger=papers_triggers(), modes=mode
    )
    return st.builds(
        lambda strategy, grouping: grouping(apply_windowing(VALUES, strategy)),
        strategies,
        st.sampled_from(GROUPINGS),
    )


def upsert_runs() -> SearchStrategy[tuple[Upsert, reference.ReferenceRun[object]]]:
    """Runs of pipelines that ``upsert`` accepts, each with its sink."""
    pipelines = retracting_pipelines() | corrections() | any_pipelines()
    inputs = st.builds(Inputs.of_timelines, dense_timelines() | free_timelines(), free_timelines())
    sinks = st.builds(_run_with_sink, pipelines, inputs, st.sampled_from(Mode))
    return sinks.filter(bool).map(lambda runs: runs[0])


def _run_with_sink(
    pipeline: PCollection[object], inputs: Inputs, mode: Mode
) -> list[tuple[Upsert, reference.ReferenceRun[object]]]:
    try:
        sink = upsert(pipeline, Memory(), table="t")
    except (ArgumentError, RecordTypeError, UnsupportedError):
        return []
    return [(sink, run) for run in run_reference(pipeline, inputs, mode)]


@pytest.mark.long
@settings(max_examples=MAX_EXAMPLES)
@given(upsert_runs(), st.lists(st.integers(0, 40), max_size=6), st.integers(1, 2))
def test_an_upsert_table_has_the_current_panes(
    sink_and_run: tuple[Upsert, reference.ReferenceRun[object]], cuts: list[int], times: int
) -> None:
    """The table has the current panes, for any pipeline, division into batches, and number of writes of each."""
    sink, run = sink_and_run
    memory = Memory()
    write_batches(evolve(sink, target=memory), batches_of(run.panes, cuts), times=times)
    rows = without_key_text(sink, memory.tables["t"].values())
    assert rows == rows_of(sink, current_panes(run.panes))


@given(runs(), st.lists(st.integers(0, 40), max_size=6), st.integers(1, 2))
def test_a_changelog_has_all_panes_in_order(
    run: reference.ReferenceRun[object], cuts: list[int], times: int
) -> None:
    """Sorted by batch and position, a changelog has all panes in order, for every mode and trigger."""
    memory = Memory()
    try:
        sink = changelog(run.spec.pipeline, memory, table="t")
    except RecordTypeError:
        assume(False)
        raise
    shape = sink.pipeline.shape
    assert shape is not None
    write_batches(sink, batches_of(run.panes, cuts), times=times)
    rows = [row[2:] for _, row in sorted(memory.tables["t"].items())]
    width = len(element_columns(shape))
    assert [row[0] for row in rows] == [pane.change.value for pane in run.panes]
    assert [from_cells(row[1 : 1 + width], shape) for row in rows] == [pane.element for pane in run.panes]
    ends = [row[2 + width] for row in rows]
    assert [event_time(end) for end in ends if isinstance(end, datetime)] == [
        pane.window.end for pane in run.panes
    ]


@pytest.mark.long
def test_generated_runs_change_tables() -> None:
    """Generated runs write, retract and delete rows, so the test of upserts is not vacuous."""
    counts: Counter[str] = Counter()

    @settings(max_examples=3 * MAX_EXAMPLES)
    @given(upsert_runs())
    def count(sink_and_run: tuple[Upsert, reference.ReferenceRun[object]]) -> None:
        sink, run = sink_and_run
        deleted, rows = sink.changes(run.panes)
        counts.update(rows=len(rows), deleted=len(deleted))
        counts.update(pane.change.value for pane in run.panes)

    count()
    assert counts["rows"] > 15
    assert counts["deleted"] > 0
    assert counts["retraction"] > 15


def single_pane_strategies() -> SearchStrategy[WindowingStrategy]:
    """Strategies for which ``emits_one_pane`` is true."""
    fires = once_triggers() | st.just(Repeat(AtWatermark()))
    strategies = windowing_strategies(
        windows=any_windows(), trigger=fires, modes=st.just(Accumulation.DISCARDING)
    )
    return strategies.filter(emits_one_pane)


@pytest.mark.long
@settings(max_examples=MAX_EXAMPLES)
@given(single_pane_strategies(), free_timelines() | dense_timelines(), st.sampled_from(Mode))
def test_emits_one_pane_is_sufficient(
    strategy: WindowingStrategy, timeline: Timeline[Reading], mode: Mode
) -> None:
    """If ``emits_one_pane`` is true, every window has at most one pane, in both modes."""
    run = reference.run(sum_values(apply_windowing(VALUES, strategy)), {READINGS: timeline}, mode=mode)
    assert max(Counter((pane.key, pane.window) for pane in run.panes).values(), default=0) <= 1


INFO: Final = PaneInfo(
    Change.VALUE,
    Timing.EARLY,
    0,
    is_first=True,
    is_last=False,
    processing_time=processing_time(NOON),
    watermark=event_time(NOON),
)
WINDOW: Final = Window(event_time(NOON), event_time(NOON + 5 * MINUTE))


def pane_of(element: object, index: int = 0, change: Change = Change.VALUE) -> Pane[object]:
    """Returns a pane of ``WINDOW``."""
    info = evolve(INFO, index=index, change=change)
    return Pane(element, WINDOW, event_time(NOON + 4 * MINUTE), info)


currents = st.builds(
    lambda index, retracted: Current.of(
        pane_of("x", index, Change.RETRACTION if retracted else Change.VALUE)
    ),
    st.integers(0, 3),
    st.booleans(),
)


@given(currents, currents, currents)
def test_current_panes_form_a_commutative_monoid(
    a: Current[object], b: Current[object], c: Current[object]
) -> None:
    """``(a + b) + c = a + (b + c)``, and ``a + b`` and ``b + a`` leave the same panes current."""
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(b).panes == b.merge(a).panes


def points_with_early_and_late_panes(
    mode: Accumulation, windows: FixedWindows | Sessions
) -> PCollection[KV[str, int]]:
    """Points in windows with early and late panes."""
    return POINTS.window(windows, trigger=EARLY_AND_LATE, accumulation=mode, allowed_lateness=LATENESS)


def sums_with_early_and_late_panes(
    mode: Accumulation, windows: FixedWindows | Sessions
) -> PCollection[KV[str, int]]:
    """Sums of points with early and late panes."""
    return points_with_early_and_late_panes(mode, windows).combine_per_key(Sum())


FIXED, SESSIONS = FixedWindows(5 * MINUTE), Sessions(2 * MINUTE)
ACCUMULATING: Final = sums_with_early_and_late_panes(Accumulation.ACCUMULATING, FIXED)
RETRACTING: Final = sums_with_early_and_late_panes(Accumulation.RETRACTING, SESSIONS)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            sums_with_early_and_late_panes(Accumulation.DISCARDING, FIXED),
            r"upsert: combine_per_key\(Sum\) is DISCARDING, and a window can have several panes: the last one contains "
            r"only the last elements; make it ACCUMULATING, or RETRACTING, or use changelog",
        ),
        (
            sums_with_early_and_late_panes(Accumulation.ACCUMULATING, SESSIONS),
            r"is ACCUMULATING, and its windows merge: .*; make it RETRACTING",
        ),
        (
            RETRACTING.window(
                FIXED,
                trigger=AtCount(1).repeat(),
                accumulation=Accumulation.ACCUMULATING,
                allowed_lateness=timedelta(0),
            ).combine_per_key(Max()),
            r"is ACCUMULATING, and its values can be retracted: .*; leave accumulation unset, or make it RETRACTING",
        ),
        (
            ACCUMULATING.filter(lambda pair: pair.value > 3),
            r"is ACCUMULATING, and a filter\(...\) or flat_map\(...\) follows it: .*; make it RETRACTING",
        ),
        (
            flatten(
                ACCUMULATING,
                points_with_early_and_late_panes(Accumulation.ACCUMULATING, FIXED).combine_per_key(Max()),
            ),
            r"upsert: one grouping must emit all panes; got combine_per_key\(Sum\), combine_per_key\(Max\): ",
        ),
        (
            flatten(ACCUMULATING, ACCUMULATING),
            r"upsert: flatten\(...\) emits the panes of combine_per_key\(Sum\) several times",
        ),
        (POINTS, r"upsert: the pipeline groups nothing, so no element replaces another; use changelog"),
    ],
)
def test_upsert_rejects_pipelines_with_wrong_latest_values(
    pipeline: PCollection[KV[str, int]], message: str
) -> None:
    """The message has the remedy. A changelog accepts each of these pipelines."""
    with pytest.raises(UnsupportedError, match=message):
        upsert(pipeline, Memory(), table="t")
    assert changelog(pipeline, Memory(), table="t").table.key == ("batch", "position")


def test_a_changelog_of_elements_has_both_times() -> None:
    """A pipeline that groups nothing is appended element by element, in order."""
    timeline = Timeline[Score]().at(minute(3), Score("a", 5, minute(1)), Score("a", 2, minute(0)))
    run = reference.run(POINTS, {SCORES: timeline})
    sink = changelog(POINTS, Memory(), table="t")
    assert [column.name for column in sink.table.columns] == [
        *("batch", "position", "key", "value", "event_time", "processing_time"),
    ]
    assert sink.rows(4, run) == [
        (4, 0, "a", 2, minute(0), minute(3)),
        (4, 1, "a", 5, minute(1), minute(3)),
    ]


@pytest.mark.parametrize(
    "pipeline",
    [
        ACCUMULATING,
        RETRACTING,
        RETRACTING.filter(lambda pair: pair.value > 3).map_values(lambda total: total + 1),
        POINTS.window(
            FIXED, accumulation=Accumulation.DISCARDING, allowed_lateness=timedelta(0)
        ).combine_per_key(Sum()),
        POINTS.window(SESSIONS, trigger=AtWatermark(), allowed_lateness=FOREVER).combine_per_key(Sum()),
    ],
)
def test_upsert_accepts_pipelines_with_current_latest_values(pipeline: PCollection[KV[str, int]]) -> None:
    """Upsert accepts retractions, ACCUMULATING without merging, and windows with a single pane."""
    assert upsert(pipeline, Memory(), table="t").table.key == ("key", "window_start", "window_end")


def test_lost_and_repeated_batches_are_rejected() -> None:
    """A sink writes the next batch of the same query, ignores the last one, and rejects every other."""
    memory = Memory()
    sink = changelog(ACCUMULATING, memory, table="t")
    empty = SinkBatch[object](Output(()), None)
    for number in range(3):
        assert sink.write(empty, WrittenBatch("q", number))
    before = dict(memory.written)
    cases = {
        WrittenBatch("r", 0): "must be 3 of streaming query q; got batch 0 of streaming query r",
        WrittenBatch("r", 2): "a new checkpoint restarts the batch ids",
        WrittenBatch("q", 1): "the checkpoint is older than the table",
        WrittenBatch("q", 4): "the table is older than the checkpoint",
    }
    for batch, message in cases.items():
        with pytest.raises(SinkError, match=message):
            sink.write(empty, batch)
    assert memory.written == before
    assert not sink.write(empty, WrittenBatch("q", 2))
    with pytest.raises(SinkError, match=r"new table 'u' must be 0; got batch 3 .* or pass since=3"):
        changelog(ACCUMULATING, memory, table="u").write(empty, WrittenBatch("q", 3))
    assert changelog(ACCUMULATING, memory, table="u", since=3).write(empty, WrittenBatch("q", 3))


@given(st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_only_one_batch_is_next(last: int, batch: int, same: bool) -> None:
    """After a batch, exactly the following batch of the same query is accepted."""
    try:
        require_next_batch("t", WrittenBatch("q", last), WrittenBatch("q" if same else "r", batch), first=0)
    except SinkError:
        assert not same or batch != last + 1
    else:
        assert same
        assert batch == last + 1


def test_a_failed_batch_changes_nothing() -> None:
    """A failed batch leaves neither rows nor its id, and can be written again."""
    memory = Memory()
    pairs = ACCUMULATING.map(lambda pair: KV(pair.key, pair.value))
    sink = upsert(pairs, memory, table="t", by=("key",))
    assert sink.write(SinkBatch(Output((pane_of(KV("a", 1)),)), None), WrittenBatch("q", 0))
    before = (dict(memory.tables["t"]), dict(memory.written))
    both = (pane_of(KV("a", 2), 1), pane_of(KV("a", 3), 1))
    with pytest.raises(
        ElementError, match=r"KV\(key='a', value=2\).*are equal by key, so they have the same row"
    ):
        sink.write(SinkBatch(Output(both), None), WrittenBatch("q", 1))
    assert (memory.tables["t"], memory.written) == before
    assert sink.write(SinkBatch(Output((pane_of(KV("a", 2), 1),)), None), WrittenBatch("q", 1))


class Colour(Enum):
    """An enum."""

    RED = 1
    BLUE = 2


@frozen
class Inner:
    """A nested record."""

    a: int
    b: str | None


@frozen
class Outer:
    """A record with a field of every shape."""

    flag: bool
    number: int
    ratio: float
    text: str
    blob: bytes
    at: datetime
    day: date
    lasting: timedelta
    exact: Decimal
    colour: Colour
    inner: Inner
    two: tuple[int, Inner]
    maybe: int | None
    maybe_inner: Inner | None
    many: list[float]
    tags: frozenset[str]
    deep: list[tuple[datetime, Decimal, bytes, timedelta, date, Colour, Inner | None]]


points = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
exact = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9)
inners = st.builds(Inner, st.integers(-(2**63), 2**63 - 1), st.none() | st.text())
days = st.dates()
lengths = st.timedeltas(timedelta(days=-(10**5)), timedelta(days=10**5))
deep = st.tuples(points, exact, st.binary(), lengths, days, st.sampled_from(Colour), st.none() | inners)
outers = st.builds(
    Outer,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(),
    st.binary(),
    points,
    days,
    lengths,
    exact,
    st.sampled_from(Colour),
    inners,
    st.tuples(st.integers(0, 9), inners),
    st.none() | st.integers(0, 9),
    st.none() | inners,
    st.lists(st.floats(), max_size=3),
    st.frozensets(st.text(), max_size=3),
    st.lists(deep, max_size=2),
)
EVERYTHING: Final = shape_of(Outer)


def equal_with_nan(left: Outer, right: Outer) -> bool:
    """Whether two records are equal, where NaN equals NaN."""
    numbers = zip([left.ratio, *left.many], [right.ratio, *right.many], strict=True)
    rest = [evolve(record, ratio=0.0, many=[]) for record in (left, right)]
    return rest[0] == rest[1] and all(a == b or a != a != b != b for a, b in numbers)


@given(outers)
def test_elements_are_converted_to_cells_and_back(element: Outer) -> None:
    """Elements of every shape survive the conversion, with nulls, infinities and NaN."""
    cells = to_cells(element, EVERYTHING)
    assert len(cells) == len(element_columns(EVERYTHING))
    decoded = from_cells(cells, EVERYTHING)
    assert isinstance(decoded, Outer)
    assert equal_with_nan(decoded, element)


def test_columns_are_named_by_their_path() -> None:
    """A path is joined by underscores; duplicate names, and names of the sink's columns, are rejected."""
    names = [column.name for column in element_columns(EVERYTHING)]
    assert names[10:16] == ["inner_a", "inner_b", "two_1", "two_2_a", "two_2_b", "maybe"]
    assert [column.name for column in element_columns(shape_of(tuple[int, str]))] == ["value_1", "value_2"]
    assert [column.name for column in element_columns(shape_of(KV[str, tuple[int, int]]))] == [
        "key",
        "value_1",
        "value_2",
    ]
    clash = ACCUMULATING.map(lambda pair: Clash(Inner(pair.value, None), 1), result=Clash)
    with pytest.raises(
        RecordTypeError, match="columns of the table 't' must have distinct names; got 'part_a' and 'part_A'"
    ):
        changelog(clash, Memory(), table="t")
    hidden = ACCUMULATING.map(lambda pair: Hidden(pair.key), result=Hidden)
    with pytest.raises(RecordTypeError, match="pane must not have the name of a column of panes"):
        changelog(hidden, Memory(), table="t")
    own = ACCUMULATING.map(lambda pair: Own(pair.key, NOON), result=Own)
    with pytest.raises(RecordTypeError, match="must have distinct names; got 'window_end' and 'window_end'"):
        upsert(own, Memory(), table="t", by=["key"])


@pytest.mark.parametrize("name", ["", "a\0b", "flowalg_sinks", "FlowAlg_Sinks"])
def test_a_table_of_an_impossible_name_is_an_error(name: str) -> None:
    """A name without characters, with NUL, or of the table of progress is an error when the sink is built."""
    with pytest.raises(ArgumentError, match="table must be"):
        changelog(ACCUMULATING, Memory(), table=name)


def test_a_table_of_sqlite_itself_is_an_error(tmp_path: Path) -> None:
    """SQLite reserves names for itself, which is an error that says so, before a row is written."""
    sink = changelog(ACCUMULATING, SQLite(tmp_path / "t.db"), table="sqlite_t")
    with pytest.raises(ArgumentError, match="table must be a name that does not begin with sqlite_"):
        sink.write(SinkBatch(Output((pane_of(KV("a", 1)),)), None), WrittenBatch("q", 0))


@frozen
class Clash:
    """The path ``part.a`` and the field ``part_A`` have names that differ by case only."""

    part: Inner
    part_A: int


@frozen
class Hidden:
    """A field named like a column of panes."""

    pane: str


@frozen
class Own:
    """A field named like a column of upsert tables."""

    key: str
    window_end: datetime


@frozen
class Visit:
    """A visit, by a visitor who may be unknown."""

    visitor: str | None
    at: datetime


def test_none_is_a_key_of_its_own() -> None:
    """A key that is ``None`` differs from every other key, and its row is retracted."""
    visits = Source("visits", Visit, event_time=lambda visit: visit.at)
    counts = (
        visits.key_by(lambda visit: visit.visitor)
        .window(
            SESSIONS, trigger=EARLY_AND_LATE, accumulation=Accumulation.RETRACTING, allowed_lateness=LATENESS
        )
        .combine_per_key(Count())
    )
    memory = Memory()
    sink = upsert(counts, memory, table="t")
    assert sink.table.key == ("key_json", "window_start", "window_end")
    panes = tuple(pane_of(KV(key, 1)) for key in (None, "", "null", "a"))
    sink.write(SinkBatch(Output(panes), None), WrittenBatch("q", 0))
    assert [row[0] for row in memory.tables["t"].values()] == ["[null]", '[""]', '["null"]', '["a"]']
    changes = (pane_of(KV(None, 1), 0, Change.RETRACTION), pane_of(KV("", 2), 1))
    sink.write(SinkBatch(Output(changes), None), WrittenBatch("q", 1))
    assert sort_rows(row[1:3] for row in memory.tables["t"].values()) == sort_rows(
        [("", 2), ("null", 1), ("a", 1)]
    )


def test_by_names_the_key_of_an_upsert_table() -> None:
    """``by`` names the key fields; it may be empty if a window has one value."""
    total = (
        SCORES.window(FIXED, trigger=EARLY_AND_LATE, allowed_lateness=LATENESS)
        .map(lambda s: s.points)
        .combine_globally(Sum())
    )
    assert upsert(total, Memory(), table="t", by=()).table.key == ("window_start", "window_end")
    teams = RETRACTING.flat_map(lambda pair: [Score(pair.key, pair.value, NOON)], result=Score)
    sink = upsert(teams, Memory(), table="t", by=["team", "points"])
    assert sink.table.key == ("team", "points", "window_start", "window_end")


def test_drop_rows_are_sorted_and_numbered() -> None:
    """Drop rows are sorted within a batch; with one stage, keys and values are typed, with several they are JSON."""
    times = {"processing_time": NOON, "watermark": NOON}
    window = {"start": NOON, "end": NOON + MINUTE}
    typed = [
        {"drop": {"reason": "expired", "count": 2, "key": key, "value": 3, **times}, **window} for key in "ba"
    ]
    rows = drop_rows(ACCUMULATING, 7, typed)
    cells = (None, NOON, NOON + MINUTE, NOON, NOON)
    assert rows == [
        (7, 0, None, "expired", 2, '"a"', "3", *cells),
        (7, 1, None, "expired", 2, '"b"', "3", *cells),
    ]
    drop = {"stage": "second", "reason": "closed", "count": 1, "key": "[1, 2]", "value": None}
    (row,) = drop_rows(ACCUMULATING, 8, [{"drop": {**drop, **times}, **window}])
    assert row == (8, 0, "second", "closed", 1, "[1, 2]", None, *cells)
    table = drop_table("t")
    assert table.name == "t_drops"
    assert all(len(cells) == len(table.columns) for cells in (*rows, row))
