"""Sinks without Spark: what a table holds after some batches is what stands of their panes.

This family catches a table that keeps what was taken back, that a division into batches or a batch given twice changes,
that skips a batch which it does not have, and pipelines whose latest values would be wrong ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final

import flowalg_reference as reference
import pytest
from attrs import evolve, frozen
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import dense_timelines, free_timelines, once_triggers, windowing_strategies
from flowalg_laws.strategies.pipelines import GROUPINGS, sum_values
from flowalg_laws.strategies.times import durations
from flowalg_sinks.once import require_next
from flowalg_sinks.upsertable import gives_one_pane
from flowalg_spark.sinks import Changelog, SinkError, Upsert, Written, changelog, upsert
from flowalg_spark.sinks.batches import SinkBatch
from flowalg_spark.sinks.cells import element_columns, from_cells, to_cells
from flowalg_spark.sinks.drops import drop_rows, drop_table
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    ArgumentError,
    AtCount,
    AtWatermark,
    Change,
    Count,
    ElementError,
    FixedWindows,
    Max,
    Mode,
    Pane,
    PCollection,
    RecordTypeError,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
    UnsupportedError,
    Window,
    WindowingStrategy,
    event_time,
    flatten,
)
from flowalg.data.shapes import shape_of
from flowalg.data.time import processing_time
from flowalg.runs.current import Current
from flowalg.runs.panes import PaneInfo, Timing
from tests.support.generated_runs import ran, runs
from tests.support.scores import NOON, POINTS, SCORES, Score
from tests.support.sink_cases import Memory, in_order, rows_of, standing, without_key_text
from tests.support.step_pairs import Played, any_pipelines, any_windows, corrections, papers_triggers

MINUTE: Final = timedelta(minutes=1)
REFINED: Final = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))
LATE: Final = timedelta(minutes=9)
MANY: Final = max(150, settings().max_examples)
"""How many examples: few of those that are generated take everything back that they have said."""


def batches_of(panes: Sequence[Pane[object]], cuts: Sequence[int]) -> list[Sequence[Pane[object]]]:
    """Panes in order, divided at some places."""
    places = sorted({min(cut, len(panes)) for cut in cuts} | {0, len(panes)})
    return [panes[start:stop] for start, stop in zip([0, *places], [*places, len(panes)], strict=True)]


def given_to(sink: Upsert | Changelog, batches: Sequence[Sequence[Pane[object]]], *, times: int) -> None:
    """Write batches one after another, each so many times."""
    for number, batch in enumerate(batches):
        for time in range(times):
            assert sink.write(SinkBatch(tuple(batch), None), Written("q", number)) is (time == 0)


def retracting() -> SearchStrategy[PCollection[object]]:
    """Any grouping in any windows, which takes back what it has said; and in sessions that often do."""
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


def upserted() -> SearchStrategy[tuple[Upsert, reference.ReferenceRun[object]]]:
    """Runs of pipelines that an upsert takes, with the sink."""
    pipelines = retracting() | corrections() | any_pipelines()
    played = st.builds(Played.free, dense_timelines() | free_timelines(), free_timelines())
    made = st.builds(_upserted, pipelines, played, st.sampled_from(Mode))
    return made.filter(bool).map(lambda found: found[0])


def _upserted(
    pipeline: PCollection[object], played: Played, mode: Mode
) -> list[tuple[Upsert, reference.ReferenceRun[object]]]:
    try:
        sink = upsert(pipeline, Memory(), table="t")
    except (ArgumentError, RecordTypeError, UnsupportedError):
        return []
    return [(sink, run) for run in ran(pipeline, played, mode)]


@pytest.mark.long
@settings(max_examples=MANY)
@given(upserted(), st.lists(st.integers(0, 40), max_size=6), st.integers(1, 2))
def test_an_upsert_table_is_what_stands(
    found: tuple[Upsert, reference.ReferenceRun[object]], cuts: list[int], times: int
) -> None:
    """Whatever the pipeline, the division into batches, and how often each batch is given."""
    sink, run = found
    memory = Memory()
    given_to(evolve(sink, target=memory), batches_of(run.panes, cuts), times=times)
    rows = without_key_text(sink, memory.tables["t"].values())
    assert rows == rows_of(sink, standing(run.panes))


@given(runs(), st.lists(st.integers(0, 40), max_size=6), st.integers(1, 2))
def test_a_changelog_is_all_panes_in_order(
    run: reference.ReferenceRun[object], cuts: list[int], times: int
) -> None:
    """Those of every mode and trigger; by batch and position they are in the order in which they came."""
    memory = Memory()
    try:
        sink = changelog(run.spec.pipeline, memory, table="t")
    except RecordTypeError:
        assume(False)
        raise
    shape = sink.pipeline.shape
    assert shape is not None
    given_to(sink, batches_of(run.panes, cuts), times=times)
    changed = [row[2:] for _, row in sorted(memory.tables["t"].items())]
    width = len(element_columns(shape))
    assert [row[0] for row in changed] == [pane.change.value for pane in run.panes]
    assert [from_cells(row[1 : 1 + width], shape) for row in changed] == [pane.element for pane in run.panes]
    ends = [row[2 + width] for row in changed]
    assert [event_time(end) for end in ends if isinstance(end, datetime)] == [
        pane.window.end for pane in run.panes
    ]


@pytest.mark.long
def test_what_is_generated_says_something() -> None:
    """Otherwise the test of upserts would hold of nothing: rows are written, retracted, replaced and deleted."""
    told: Counter[str] = Counter()

    @settings(max_examples=MANY)
    @given(upserted())
    def count(found: tuple[Upsert, reference.ReferenceRun[object]]) -> None:
        sink, run = found
        gone, rows = sink.changes(run.panes)
        told.update(rows=len(rows), deleted=len(gone))
        told.update(pane.change.value for pane in run.panes)

    count()
    assert told["rows"] > 15
    assert told["deleted"] > 0
    assert told["retraction"] > 15


def once() -> SearchStrategy[WindowingStrategy]:
    """Strategies of which ``gives_one_pane`` may be true."""
    fires = once_triggers() | st.just(Repeat(AtWatermark()))
    found = windowing_strategies(windows=any_windows(), trigger=fires, modes=st.just(Accumulation.DISCARDING))
    return found.filter(gives_one_pane)


@settings(max_examples=MANY)
@given(once(), free_timelines() | dense_timelines(), st.sampled_from(Mode))
def test_what_gives_one_pane_gives_no_more(
    strategy: WindowingStrategy, timeline: Timeline[Reading], mode: Mode
) -> None:
    """A window of a strategy of which ``gives_one_pane`` is true has one pane at most, whatever the engine."""
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
    """A pane of one window."""
    info = evolve(INFO, index=index, change=change)
    return Pane(element, WINDOW, event_time(NOON + 4 * MINUTE), info)


currents = st.builds(
    lambda index, back: Current.of(pane_of("x", index, Change.RETRACTION if back else Change.VALUE)),
    st.integers(0, 3),
    st.booleans(),
)


@given(currents, currents, currents)
def test_what_panes_leave_current_is_a_commutative_monoid(
    one: Current[object], two: Current[object], three: Current[object]
) -> None:
    """``(a + b) + c = a + (b + c)``, and ``a + b`` and ``b + a`` leave the same panes current."""
    assert one.merge(two).merge(three) == one.merge(two.merge(three))
    assert one.merge(two).panes == two.merge(one).panes


def window_by(mode: Accumulation, windows: FixedWindows | Sessions) -> PCollection[KV[str, int]]:
    """Points whose panes are early, and again late."""
    return POINTS.window(windows, trigger=REFINED, accumulation=mode, allowed_lateness=LATE)


def refined(mode: Accumulation, windows: FixedWindows | Sessions) -> PCollection[KV[str, int]]:
    """Sums of points whose panes are early, and again late."""
    return window_by(mode, windows).combine_per_key(Sum())


FIXED, SESSIONS = FixedWindows(5 * MINUTE), Sessions(2 * MINUTE)
ACCUMULATING: Final = refined(Accumulation.ACCUMULATING, FIXED)
RETRACTING: Final = refined(Accumulation.RETRACTING, SESSIONS)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            refined(Accumulation.DISCARDING, FIXED),
            r"upsert: combine_per_key\(Sum\) is DISCARDING, and its windows can have several panes: the last one holds "
            r"only what came last; make it ACCUMULATING, or RETRACTING, or use changelog",
        ),
        (
            refined(Accumulation.ACCUMULATING, SESSIONS),
            r"is ACCUMULATING, and its windows can have panes before they merge: .*; make it RETRACTING",
        ),
        (
            ACCUMULATING.filter(lambda pair: pair.value > 3),
            r"is ACCUMULATING, and a filter\(...\) or flat_map\(...\) follows it: .*; make it RETRACTING",
        ),
        (
            flatten(ACCUMULATING, window_by(Accumulation.ACCUMULATING, FIXED).combine_per_key(Max())),
            r"upsert: several groupings make the panes \(combine_per_key\(Sum\), combine_per_key\(Max\)\)",
        ),
        (
            flatten(ACCUMULATING, ACCUMULATING),
            r"upsert: flatten\(...\) repeats the panes of combine_per_key\(Sum\)",
        ),
        (POINTS, "the pipeline groups nothing"),
    ],
)
def test_what_an_upsert_would_show_wrongly_is_refused(
    pipeline: PCollection[KV[str, int]], message: str
) -> None:
    """With what helps. A changelog takes all of them that have panes."""
    with pytest.raises(UnsupportedError, match=message):
        upsert(pipeline, Memory(), table="t")
    if pipeline is not POINTS:
        assert changelog(pipeline, Memory(), table="t").table.key == ("batch", "position")


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
def test_what_an_upsert_shows_rightly_is_not_refused(pipeline: PCollection[KV[str, int]]) -> None:
    """Retractions make up for much, and a window that has one pane needs none."""
    assert upsert(pipeline, Memory(), table="t").table.key == ("key", "window_start", "window_end")


def test_batches_that_would_be_lost_or_repeated_are_refused() -> None:
    """Only the next batch of the same query is written, and only the last one is known to be there already."""
    memory = Memory()
    sink = changelog(ACCUMULATING, memory, table="t")
    nothing = SinkBatch[object]((), None)
    for number in range(3):
        assert sink.write(nothing, Written("q", number))
    before = dict(memory.written)
    cases = {
        Written(
            "r", 0
        ): "has the batches of the streaming query q up to 2, and this is batch 0 of the streaming query r",
        Written("r", 2): "a new checkpoint numbers its batches anew",
        Written("q", 1): "its checkpoint is older than the table",
        Written("q", 4): "the table is older than the checkpoint",
    }
    for written, message in cases.items():
        with pytest.raises(SinkError, match=message):
            sink.write(nothing, written)
    assert memory.written == before
    assert not sink.write(nothing, Written("q", 2))
    with pytest.raises(
        SinkError, match=r"'u' is new and batch 3 .* is not its first, 0: .* say since=3 if that is"
    ):
        changelog(ACCUMULATING, memory, table="u").write(nothing, Written("q", 3))
    assert changelog(ACCUMULATING, memory, table="u", since=3).write(nothing, Written("q", 3))


@given(st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_exactly_one_batch_is_the_next(last: int, batch: int, same: bool) -> None:
    """Of each query, after each batch."""
    try:
        require_next("t", Written("q", last), Written("q" if same else "r", batch), first=0)
    except SinkError:
        assert not same or batch != last + 1
    else:
        assert same
        assert batch == last + 1


def test_a_batch_that_fails_leaves_nothing_behind() -> None:
    """Neither rows nor its number: it can be given again."""
    memory = Memory()
    split = ACCUMULATING.map(lambda pair: KV(pair.key, pair.value))
    sink = upsert(split, memory, table="t", by=("key",))
    assert sink.write(SinkBatch((pane_of(KV("a", 1)),), None), Written("q", 0))
    before = (dict(memory.tables["t"]), dict(memory.written))
    both = (pane_of(KV("a", 2), 1), pane_of(KV("a", 3), 1))
    with pytest.raises(
        ElementError, match=r"KV\(key='a', value=2\).*are equal by key, so they have the same row"
    ):
        sink.write(SinkBatch(both, None), Written("q", 1))
    assert (memory.tables["t"], memory.written) == before
    assert sink.write(SinkBatch((pane_of(KV("a", 2), 1),), None), Written("q", 1))


class Colour(Enum):
    """A few."""

    RED = 1
    BLUE = 2


@frozen
class Inner:
    """Some parts."""

    a: int
    b: str | None


@frozen
class Outer:
    """Every shape."""

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
    some: frozenset[str]
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


def alike(one: Outer, other: Outer) -> bool:
    """Equality, but that NaN is itself."""
    numbers = zip([one.ratio, *one.many], [other.ratio, *other.many], strict=True)
    rest = [evolve(some, ratio=0.0, many=[]) for some in (one, other)]
    return rest[0] == rest[1] and all(a == b or a != a != b != b for a, b in numbers)


@given(outers)
def test_elements_go_to_cells_and_back(element: Outer) -> None:
    """Every shape, with nulls, infinities and NaN."""
    cells = to_cells(element, EVERYTHING)
    assert len(cells) == len(element_columns(EVERYTHING))
    found = from_cells(cells, EVERYTHING)
    assert isinstance(found, Outer)
    assert alike(found, element)


def test_columns_are_named_by_their_path() -> None:
    """By underscores; a name that comes twice, or is one of the sink's own, is refused."""
    names = [one.name for one in element_columns(EVERYTHING)]
    assert names[10:16] == ["inner_a", "inner_b", "two_1", "two_2_a", "two_2_b", "maybe"]
    assert [one.name for one in element_columns(shape_of(tuple[int, str]))] == ["value_1", "value_2"]
    assert [one.name for one in element_columns(shape_of(KV[str, tuple[int, int]]))] == [
        "key",
        "value_1",
        "value_2",
    ]
    clash = ACCUMULATING.map(lambda pair: Clash(Inner(pair.value, None), 1), result=Clash)
    with pytest.raises(
        RecordTypeError, match="two columns of the table 't' would be called 'part_a' and 'part_A'"
    ):
        changelog(clash, Memory(), table="t")
    hidden = ACCUMULATING.map(lambda pair: Hidden(pair.key), result=Hidden)
    with pytest.raises(RecordTypeError, match="the field pane has the name of a column of panes"):
        changelog(hidden, Memory(), table="t")
    own = ACCUMULATING.map(lambda pair: Own(pair.key, NOON), result=Own)
    with pytest.raises(RecordTypeError, match="would be called 'window_end' and 'window_end'"):
        upsert(own, Memory(), table="t", by=["key"])


@frozen
class Clash:
    """A part with ``a`` inside, and a field that is called so."""

    part: Inner
    part_A: int


@frozen
class Hidden:
    """A name that panes have."""

    pane: str


@frozen
class Own:
    """A name that a table has."""

    key: str
    window_end: datetime


@frozen
class Visit:
    """Of somebody, or of nobody known."""

    visitor: str | None
    at: datetime


def test_a_key_that_may_be_nothing_is_one_key_all_the_same() -> None:
    """``None`` as a key, and inside of one, is told from every other key; a retraction finds it."""
    visits = Source("visits", Visit, event_time=lambda visit: visit.at)
    sums = (
        visits.key_by(lambda visit: visit.visitor)
        .window(SESSIONS, trigger=REFINED, accumulation=Accumulation.RETRACTING, allowed_lateness=LATE)
        .combine_per_key(Count())
    )
    memory = Memory()
    sink = upsert(sums, memory, table="t")
    assert sink.table.key == ("key_json", "window_start", "window_end")
    panes = tuple(pane_of(KV(key, 1)) for key in (None, "", "null", "a"))
    sink.write(SinkBatch(panes, None), Written("q", 0))
    assert [row[0] for row in memory.tables["t"].values()] == ["[null]", '[""]', '["null"]', '["a"]']
    back = (pane_of(KV(None, 1), 0, Change.RETRACTION), pane_of(KV("", 2), 1))
    sink.write(SinkBatch(back, None), Written("q", 1))
    assert in_order(row[1:3] for row in memory.tables["t"].values()) == in_order(
        [("", 2), ("null", 1), ("a", 1)]
    )


def test_elements_may_differ_by_any_fields() -> None:
    """Those that ``by`` names; none, where a window has one value."""
    total = (
        SCORES.window(FIXED, trigger=REFINED, allowed_lateness=LATE)
        .map(lambda s: s.points)
        .combine_globally(Sum())
    )
    assert upsert(total, Memory(), table="t", by=()).table.key == ("window_start", "window_end")
    teams = RETRACTING.flat_map(lambda pair: [Score(pair.key, pair.value, NOON)], result=Score)
    sink = upsert(teams, Memory(), table="t", by=["team", "points"])
    assert sink.table.key == ("team", "points", "window_start", "window_end")


def test_drops_are_rows_in_an_order_of_their_own() -> None:
    """Of one stage with its key and value as they are, and of several with the JSON that those have."""
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
    said = {"stage": "second", "reason": "closed", "count": 1, "key": "[1, 2]", "value": None}
    (row,) = drop_rows(ACCUMULATING, 8, [{"drop": {**said, **times}, **window}])
    assert row == (8, 0, "second", "closed", 1, "[1, 2]", None, *cells)
    table = drop_table("t")
    assert table.name == "t_drops"
    assert all(len(one) == len(table.columns) for one in (*rows, row))
