"""Dead letters of the local engine: a dirty file gives the panes of its good rows and the same bad records everywhere.

These tests catch a bad record that is lost, that takes good rows with it, or whose reason depends on the engine.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import flowalg_reference as reference
import polars as pl
import pyarrow.parquet as pq
import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming, batch, streaming
from flowalg_polars.streaming import Files, Frames, StreamInput

from flowalg import (
    FOREVER,
    KV,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Interpreter,
    PCollection,
    Sum,
    Timeline,
)
from flowalg.errors import ArgumentError, ElementError, UserFunctionError
from flowalg.runs import BadRecord
from tests.support.dirty import (
    DIRTY,
    EXPECTED,
    GOOD,
    MINUTE,
    NOON,
    SALES,
    TOTALS,
    Sale,
    checked,
    counted,
    record_of,
    table,
)
from tests.support.scores import SCORES, Score

STREAM_POLICY = BoundedOutOfOrderness(timedelta(days=1))


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    """The dirty rows as a Parquet file."""
    path = tmp_path / "dirty.parquet"
    pq.write_table(table(DIRTY), path)
    return path


def referenced() -> reference.ReferenceRun[KV[str, tuple[int, int, int]]]:
    """Returns the run of the reference interpreter over the records of the dirty rows."""
    return reference.run_batch(TOTALS, {SALES: map(record_of, DIRTY)}, dead_letters=True)


def test_the_reference_keeps_bad_records_apart() -> None:
    """The run is that of the good rows, and each bad row is a bad record with its stage, error and record."""
    run = referenced()
    clean = reference.run_batch(TOTALS, {SALES: map(record_of, GOOD)})
    assert run.panes == clean.panes
    assert counted(run.bad_records) == EXPECTED
    assert not clean.bad_records
    (nothing,) = (record for record in run.bad_records if "LookupError" in record.error)
    assert nothing.stage.startswith("map(checked at")
    assert json.loads(nothing.record)["cents"] == 13
    with pytest.raises(ElementError, match="shop must be of type str; got null"):
        reference.run_batch(TOTALS, {SALES: map(record_of, DIRTY)})


def test_a_batch_and_a_stream_reject_the_same_rows_of_a_file(dirty: Path) -> None:
    """Both give the panes of the reference and its bad records, with the same reasons."""
    expected = referenced()
    run = batch.run(TOTALS, {SALES: dirty}, dead_letters=True)
    assert [(pane.element, pane.window) for pane in run.panes] == [
        (pane.element, pane.window) for pane in expected.panes
    ]
    assert run.bad_records == expected.bad_records
    (tmp := dirty.parent / "in").mkdir()
    dirty.rename(tmp / "0.parquet")
    inputs = {SALES: StreamInput(tmp, STREAM_POLICY)}
    batches = list(streaming.batches(TOTALS, inputs, dead_letters=True, drain=True))
    emitted = {(pane.element.key, pane.value) for micro_batch in batches for pane in micro_batch.panes}
    assert emitted == {(pane.element.key, pane.value) for pane in expected.panes}
    assert (
        tuple(sorted(bad for micro_batch in batches for bad in micro_batch.bad_records))
        == expected.bad_records
    )


@pytest.mark.parametrize("engine", [PolarsBatch(dead_letters=True), PolarsStreaming(dead_letters=True)])
def test_the_bad_records_of_a_timeline_are_those_of_the_reference(engine: Interpreter) -> None:
    """Records of a timeline that columns cannot hold are bad records too, each of them."""
    timeline = Timeline.batch(map(record_of, DIRTY), time=NOON)
    run = engine.run(TOTALS, {SALES: timeline})
    assert run.bad_records == referenced().bad_records
    assert len(run.panes) == len(referenced().panes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{{"cents": {"9" * 5_000}}}', "row 2: cents must be of type int64; got 99999"),
        (
            '{"cents": "?", "more": ' + "[" * 100_000 + "1" + "]" * 100_000 + "}",
            "row 2: cents must be of type int64; got '?'",
        ),
    ],
)
def test_a_line_that_python_cannot_parse_is_a_bad_record(tmp_path: Path, text: str, message: str) -> None:
    """A number with thousands of digits is a bad record, deep nesting is skipped, and neither affects another line."""
    good = json.dumps({**GOOD[0], "at": NOON.isoformat()})
    (tmp_path / "0.jsonl").write_text(f"{good}\n{text}\n{good}\n")
    inputs = {SALES: StreamInput(Files(tmp_path, "jsonl"), STREAM_POLICY)}
    batches = list(streaming.batches(SALES, inputs, dead_letters=True, drain=True))
    assert [len(micro_batch.elements) for micro_batch in batches if micro_batch.elements] == [2]
    (bad,) = (bad for micro_batch in batches for bad in micro_batch.bad_records)
    assert message in bad.error


def test_a_batch_fails_by_default(dirty: Path) -> None:
    """Without dead letters, a bad row fails the query."""
    with pytest.raises(ElementError, match="source 'sales': "):
        batch.run(TOTALS, {SALES: dirty})
    with pytest.raises(ArgumentError, match="dead_letters must be True in batch.compile"):
        batch.compile(TOTALS, {SALES: dirty}).dead_letters()
    with pytest.raises(ArgumentError, match="dead_letters must be a bool"):
        batch.compile(TOTALS, {SALES: dirty}, dead_letters=1)  # type: ignore[call-overload]  # the error under test


def test_the_frame_of_dead_letters_has_the_columns_of_drops(dirty: Path) -> None:
    """It has a row for each bad record; the panes have the columns that they have otherwise."""
    panes = batch.compile(TOTALS, {SALES: dirty}, dead_letters=True)
    emitted, letters = pl.collect_all([panes, panes.dead_letters()])
    assert emitted.columns == batch.compile(TOTALS, {SALES: table_frame(GOOD)}).collect_schema().names()
    assert letters.columns == [
        "stage",
        "reason",
        "count",
        "key",
        "value",
        "processing_time",
        "watermark",
        "error",
    ]
    assert letters.height == sum(EXPECTED.values())
    assert set(letters["reason"]) == {"bad_record"}


def table_frame(rows: list[dict[str, object]]) -> pl.DataFrame:
    """Returns rows as a frame."""
    return pl.DataFrame(table(rows))


def test_elements_are_computed_once_for_panes_and_dead_letters() -> None:
    """One query over both frames calls a function once for each element, and again around a bad one."""
    calls: list[int] = []

    def count_call(sale: Sale) -> int:
        calls.append(sale.cents)
        return sale.cents

    sums = SALES.map(count_call).key_by(lambda cents: 0).combine_per_key(Count())
    run = batch.run(sums, {SALES: table_frame([*GOOD, *DIRTY[1:2]])}, dead_letters=True)
    assert [pane.value for pane in run.panes] == [len(GOOD)]
    assert len(run.bad_records) == 1
    assert Counter(calls) == Counter(cells["cents"] for cells in GOOD)


@pytest.mark.long
@pytest.mark.parametrize("count", [3, 20_000])
def test_bad_rows_among_many_good_ones(count: int) -> None:
    """However the rows are divided, each bad one is found and no good one is lost."""
    rows = pl.concat([table_frame(GOOD[:1])] * count)
    bad = [0, count // 2, count - 1]
    cents = pl.Series([13 if number in bad else 1 for number in range(count)], dtype=pl.Int64())
    run = batch.run(TOTALS, {SALES: rows.with_columns(cents.alias("cents"))}, dead_letters=True)
    assert sum(pane.value[0] for pane in run.panes) == 2 * (count - 3)
    assert counted(run.bad_records) == {"map": 3}


def test_a_shared_step_has_one_dead_letter_for_each_element(dirty: Path) -> None:
    """A step that two outputs share fails once for an element, in the reference and in both local interpreters."""
    cleaned = SALES.filter(lambda sale: sale.cents // sale.parts < 1_000).map(checked)
    outputs: dict[str, PCollection[object]] = {
        "by shop": in_windows(cleaned.key_by(lambda sale: sale.shop)).combine_per_key(Count()),
        "by kind": in_windows(cleaned.key_by(lambda sale: sale.kind)).combine_per_key(Count()),
    }
    run = batch.run(outputs, {SALES: dirty}, dead_letters=True)
    assert counted(run.bad_records) == {"Source": 6, "filter": 1, "map": 1}
    timelines = {
        SALES: reference.run_batch(TOTALS, {SALES: map(record_of, DIRTY)}, dead_letters=True).spec.timelines[
            "sales"
        ]
    }
    wanted = reference.ReferenceBatch(dead_letters=True).run(outputs, timelines)
    assert run.bad_records == wanted.bad_records
    frames = {SALES: StreamInput(Frames([table_frame(DIRTY)]), STREAM_POLICY)}
    batches = list(streaming.batches(outputs, frames, dead_letters=True))
    assert (
        tuple(sorted(bad for micro_batch in batches for bad in micro_batch["by shop"].bad_records))
        == wanted.bad_records
    )


def in_windows(pairs: PCollection[KV[object, Sale]]) -> PCollection[KV[object, Sale]]:
    """Returns pairs in windows."""
    return pairs.window(FixedWindows(10 * MINUTE), allowed_lateness=FOREVER)


def test_a_step_with_a_side_input_that_raises() -> None:
    """An element on which such a step raises is a dead letter, also if the step reads a mapping."""
    windows = FixedWindows(10 * MINUTE)
    by_shop = SALES.key_by(lambda sale: sale.shop).window(windows, allowed_lateness=FOREVER)
    counts = by_shop.combine_per_key(Count()).as_map()

    def share(sale: Sale, of: Mapping[str, int]) -> int:
        if sale.cents == 50:
            raise ValueError("no share")
        return of[sale.shop]

    shares = SALES.map_with(counts, share, result=int).key_by(lambda number: 0)
    sums = shares.window(windows, allowed_lateness=FOREVER).combine_per_key(Sum())
    run = batch.run(sums, {SALES: table_frame(GOOD)}, dead_letters=True)
    wanted = reference.run_batch(sums, {SALES: map(record_of, GOOD)}, dead_letters=True)
    assert [pane.value for pane in run.panes] == [pane.value for pane in wanted.panes]
    assert run.bad_records == wanted.bad_records
    assert counted(run.bad_records) == {"map_with": 1}
    stream = StreamInput(Frames([table_frame(GOOD)]), STREAM_POLICY)
    batches = list(streaming.batches(sums, {SALES: stream}, dead_letters=True, drain=True))
    assert tuple(bad for micro_batch in batches for bad in micro_batch.bad_records) == wanted.bad_records
    with pytest.raises(UserFunctionError, match="no share"):
        batch.run(sums, {SALES: table_frame(GOOD)})


def test_bad_records_are_ordered_and_compared_by_value() -> None:
    """Two bad records with equal parts are equal, so the runs of two engines can be compared."""
    assert BadRecord("a", "b", "c") == BadRecord("a", "b", "c") < BadRecord("a", "b", "d")


def fail_on_some(score: Score) -> int:
    """Raises for some scores."""
    if score.points % 3 == 0:
        raise ValueError("by three")
    return score.points


@pytest.mark.parametrize(
    "steps",
    [
        SCORES.map(lambda s: (s.team, 10 // (s.points % 2))).map(lambda pair: pair[0]),
        SCORES.map(lambda s: (s.team, fail_on_some(s))).map(lambda pair: pair[0]),
        SCORES.key_by(fail_on_some).map(lambda pair: pair.value.team),
        SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points * 2**61).map(lambda pair: pair.key),
        SCORES.with_timestamps(lambda s: NOON + fail_on_some(s) * MINUTE)
        .with_timestamps(lambda s: s.at)
        .map(lambda s: s.team),
    ],
    ids=["an expression", "a part", "a key", "an overflow", "an event time"],
)
@pytest.mark.parametrize("engine", [PolarsBatch(dead_letters=True), PolarsStreaming(dead_letters=True)])
def test_a_result_that_no_later_step_reads_is_computed(
    engine: Interpreter, steps: PCollection[object]
) -> None:
    """With dead letters an element on which a step raises goes no further, whatever reads the step's result."""
    timeline = Timeline.batch([Score(f"team {n}", n, NOON) for n in range(8)], time=NOON)
    expected = reference.ReferenceBatch(dead_letters=True).run(steps, {SCORES: timeline})
    run = engine.run(steps, {SCORES: timeline})
    assert 0 < len(expected.bad_records) < 8
    assert run.bad_records == expected.bad_records
    assert [element.element for element in run.elements] == [element.element for element in expected.elements]
