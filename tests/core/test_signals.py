"""Signals to one key or window, on the reference, the step, and a query of the local engine.

These tests catch a signal that reaches a window of another key, or a key that changes on its way through rows.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum

import polars as pl
import pytest
from attrs import evolve, frozen
from flowalg_columns.json_text import encode_json
from flowalg_columns.keys import KeyColumns
from flowalg_polars import PolarsStreaming, streaming
from flowalg_reference import Reference

from flowalg import (
    KV,
    BoundedOutOfOrderness,
    FixedWindows,
    Interpreter,
    Mode,
    PCollection,
    Repeat,
    Source,
    Sum,
    Timeline,
    Window,
    flatten,
)
from flowalg.data.shapes import shape_of
from flowalg.data.time import event_time
from flowalg.runs import Signal
from flowalg.runs.signals import KeyText
from flowalg.triggers import AtSignal
from tests.support.local_queries import LocalQueries
from tests.support.scores import POINTS, SCORES, Score, minute

FIVE = FixedWindows(timedelta(minutes=5))
FLUSHED = POINTS.window(FIVE, trigger=Repeat(AtSignal("flush")), allowed_lateness=timedelta(0))
SECOND = Window(event_time(minute(5)), event_time(minute(10)))


class Colour(Enum):
    """A key with names."""

    RED = 1


@frozen
class Place:
    """A key with parts."""

    name: str
    floor: int | None


KEYS: list[object] = [
    'grüße "x"',
    3,
    True,
    datetime(2024, 1, 1, 12, tzinfo=UTC),
    date(2024, 1, 1),
    timedelta(seconds=90),
    Decimal("1.50"),
    b"\x00\xff",
    Colour.RED,
    Place("hall", None),
    ("a", 3),
    frozenset({2, 1}),
]
SHAPES: list[object] = [
    str,
    int,
    bool,
    datetime,
    date,
    timedelta,
    Decimal,
    bytes,
    Colour,
    Place,
    tuple[str, int],
    frozenset[int],
]


@pytest.mark.parametrize(("key", "kind"), list(zip(KEYS, SHAPES, strict=True)), ids=str)
def test_the_text_of_a_key_is_that_of_its_shape(key: object, kind: object) -> None:
    """A key has the same text with and without its shape, which a stage decodes to the same columns, and to the key."""
    shape = shape_of(kind)
    assert KeyText.of(key).text == encode_json(key, shape)
    keys = KeyColumns(shape)
    columns = keys.encode(key)
    decoded = keys.encode(KeyText.of(key))
    assert columns is not None
    assert decoded is not None
    assert [column.to_list() for column in decoded] == [column.to_list() for column in columns]
    assert (
        keys.decode(pl.DataFrame([column.alias(str(number)) for number, column in enumerate(columns)])) == key
    )


def test_a_key_of_another_type_is_no_key_of_a_stage() -> None:
    """A value of another shape has no columns: a signal to it reaches no window of the stage."""
    assert KeyColumns(shape_of(int)).encode("3") is None
    assert KeyColumns(shape_of(int)).encode(KeyText('"3"')) is None
    assert KeyColumns(shape_of(str)).encode(3) is None
    assert KeyColumns(shape_of(str)).encode(KeyText("not JSON")) is None
    assert KeyColumns(shape_of(tuple[str, int])).encode(("a", "b")) is None


ENGINES: list[Interpreter] = [Reference(), PolarsStreaming(), LocalQueries(shards=3)]


def panes_of(engine: Interpreter, totals: PCollection[KV[str, int]], *signals: str | Signal) -> list[object]:
    """Returns the panes at a signal in the second minute, of two keys in two windows each."""
    policy = BoundedOutOfOrderness(timedelta(minutes=30))
    scores = [
        Score(team, n, minute(at)) for n, (team, at) in enumerate([("a", 1), ("a", 6), ("b", 2), ("b", 7)])
    ]
    timeline = Timeline.micro_batches(
        SCORES, [scores, []], processing_time=lambda score: minute(1), watermark=policy, ends=False
    )
    first = timeline.instants[0]
    with_signals = evolve(
        timeline, instants=(evolve(first, signals=frozenset(signals)), *timeline.instants[1:])
    )
    return [(pane.key, pane.value) for pane in engine.run(totals, {SCORES: with_signals}).panes]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_a_signal_reaches_the_windows_that_it_names(engine: Interpreter) -> None:
    """A name reaches all windows, a key its own, a window itself; other keys and windows nothing."""
    totals = FLUSHED.combine_per_key(Sum())
    assert panes_of(engine, totals, "flush") == [("a", 0), ("b", 2), ("a", 1), ("b", 3)]
    assert panes_of(engine, totals, Signal("flush", "b")) == [("b", 2), ("b", 3)]
    assert panes_of(engine, totals, Signal("flush", "a", SECOND)) == [("a", 1)]
    assert panes_of(engine, totals, Signal("flush", "a", SECOND), Signal("flush", "b")) == [
        ("b", 2),
        ("a", 1),
        ("b", 3),
    ]
    assert panes_of(engine, totals, Signal("flush", "c"), Signal("other", "a"), Signal("flush", 1)) == []


@pytest.mark.parametrize("engine", [Reference(), PolarsStreaming()], ids=str)
@pytest.mark.parametrize("number", [0, 1])
def test_a_signal_of_any_source_reaches_the_grouping_of_a_union(engine: Interpreter, number: int) -> None:
    """A grouping of several sources receives the signals of each of them, also those of one instant."""
    others = Source("others", Score, event_time=lambda score: score.at)
    other_points = others.key_by(lambda score: score.team).map_values(lambda score: score.points)
    signals = [["other"], ["other"]]
    signals[number] = ["flush"]
    inputs = {
        source: Timeline[Score]().at(minute(1), Score("a", 1, minute(1)), signals=sent)
        for source, sent in zip((SCORES, others), signals, strict=True)
    }
    united = flatten(POINTS, other_points).window(FIVE, trigger=Repeat(AtSignal("flush")))
    assert [pane.value for pane in engine.run(united.combine_per_key(Sum()), inputs).panes] == [2]


def test_a_stream_has_signals_to_keys_in_its_rows() -> None:
    """Rows with a name, a key as JSON and a window are signals, which a replay has too; a name alone reaches all."""
    schema = {"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")}
    bounds = {"start": pl.Datetime("us", "UTC"), "end": pl.Datetime("us", "UTC")}
    marks = {"signal": pl.String(), "key": pl.String(), "window": pl.Struct(bounds)}
    scores = [{"team": team, "points": 1, "at": minute(at)} for team in ("a", "b") for at in (1, 6)]
    window = {"start": minute(5), "end": minute(10)}
    signals = [
        {"signal": "flush", "key": '"a"', "window": window},
        {"signal": "flush", "key": '"b"', "window": None},
        {"signal": "flush", "key": None, "window": None},
    ]
    frames = [
        pl.DataFrame(scores, {**schema, **marks}),
        *(pl.DataFrame([row], {**schema, **marks}) for row in signals),
    ]
    stream = streaming.StreamInput(
        streaming.Frames(frames),
        BoundedOutOfOrderness(timedelta(minutes=30)),
        signal="signal",
        signal_key="key",
        signal_window="window",
    )
    sums = FLUSHED.combine_per_key(Sum())
    batches = list(streaming.batches(sums, {SCORES: stream}, metrics=True))
    by_batch = [
        ([(pane.key, pane.window.start) for pane in batch.panes], batch.sources[0]) for batch in batches
    ]
    first, second = event_time(minute(0)), event_time(minute(5))
    assert [panes for panes, _ in by_batch[:4]] == [
        [],
        [("a", second)],
        [("b", first), ("b", second)],
        [("a", first)],
    ]
    assert [source.signals for _, source in by_batch[:4]] == [(), (), (), ("flush",)]
    assert [len(source.signals_to_keys) for _, source in by_batch[:4]] == [0, 1, 1, 0]
    records = [Score(**score) for score in scores]  # type: ignore[arg-type]  # of these types
    timeline = streaming.replay_log(batches).timeline(SCORES, records)
    replayed = Reference(Mode.MICRO_BATCH).run(sums, {SCORES: timeline})
    assert list(replayed.panes) == [pane for batch in batches for pane in batch.panes]
