"""Pipelines as values: types and errors that are known at construction, before anything runs."""

from __future__ import annotations

import os
import pickle
import sys
from datetime import timedelta
from pathlib import Path

import cloudpickle  # type: ignore[import-untyped]  # it has no types
import flowalg_reference as reference
import pytest
from flowalg_laws.strategies import policies, triggers, window_fns
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Max,
    Min,
    PCollection,
    Perfect,
    Sum,
    Timeline,
)
from flowalg.data.errors import describe_function
from flowalg.data.shapes import BOOLEAN, INTEGER, kv_of, shape_of
from flowalg.errors import RecordTypeError
from flowalg.pipeline.nodes import ElementWise
from flowalg.triggers import Trigger
from flowalg.windows import WindowFn, WindowingStrategy
from tests.support.programs import run_program
from tests.support.scores import NOON, POINTS, SCORES, Score, minute


def test_element_types_are_known_without_annotations() -> None:
    """The shape of each collection follows from the record class and the syntax of functions."""
    assert SCORES.shape == shape_of(Score)
    assert POINTS.shape == shape_of(KV[str, int])
    assert SCORES.map(lambda s: KV(s.points > 3, s)).shape == kv_of(BOOLEAN, shape_of(Score))
    assert POINTS.combine_per_key(Sum(), Count()).shape == shape_of(KV[str, tuple[int, int]])
    assert SCORES.map(lambda s: hash(s)).shape is None
    assert SCORES.map(lambda s: hash(s), result=int).shape == INTEGER


def test_element_wise_steps_fuse() -> None:
    """A chain of element-wise methods is one node."""
    node = SCORES.map(lambda s: s.points).filter(lambda n: n > 1).map(lambda n: KV(n, n)).node
    assert isinstance(node, ElementWise)
    assert len(node.steps) == 3
    assert node.input == SCORES.node


def test_maps_compose() -> None:
    """Law: ``map(f).map(g) = map(g after f)``."""
    two_maps = SCORES.map(lambda s: s.points + 1).map(lambda n: KV("all", n * 2)).combine_per_key(Sum())
    one_map = SCORES.map(lambda s: KV("all", (s.points + 1) * 2)).combine_per_key(Sum())
    scores = [Score("a", number, NOON) for number in range(5)]
    assert reference.run_batch(two_maps, {SCORES: scores}) == reference.run_batch(one_map, {SCORES: scores})


def test_a_composite_is_a_function() -> None:
    """``apply`` calls a function with the collection."""

    def count(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
        return collection.combine_per_key(Count())

    assert POINTS.apply(count) == POINTS.combine_per_key(Count())


def test_a_combiner_that_cannot_take_the_values_is_an_error() -> None:
    """A combiner that cannot take the values is an error at construction, where their type is known."""
    teams = SCORES.key_by(lambda s: s.points).map_values(lambda s: s.team)
    with pytest.raises(
        RecordTypeError, match="Sum does not accept values of type str; it accepts int, float and Decimal"
    ):
        teams.combine_per_key(Sum())  # type: ignore[arg-type]
    with pytest.raises(
        RecordTypeError, match="Max does not accept values of type Score; it accepts int, float, str"
    ):
        SCORES.key_by(lambda s: s.team).combine_per_key(Max())


@given(st.lists(st.integers(0, 5), max_size=9), st.integers(1, 4))
def test_a_timeline_has_some_number_of_records_in_an_instant(arrivals: list[int], rows: int) -> None:
    """They are in order of processing time, those of one time in their own order; the last instant may have fewer."""
    records = [Score("a", number, minute(at)) for number, at in enumerate(arrivals)]
    timeline = Timeline.from_records(
        SCORES,
        records,
        processing_time=lambda score: score.at,
        watermark=Perfect(),
        batch_rows=rows,
        ends=False,
    )
    wanted = sorted(records, key=lambda score: score.at)
    assert [list(instant.elements) for instant in timeline] == [
        wanted[start : start + rows] for start in range(0, len(wanted), rows)
    ]
    assert [instant.processing_time.datetime for instant in timeline] == [
        wanted[min(start + rows, len(wanted)) - 1].at for start in range(0, len(wanted), rows)
    ]


def test_a_timeline_from_records_groups_them_by_processing_time() -> None:
    """A timeline from records has an instant for each period, in order, at the greatest processing time in it."""
    scores = [Score("a", number, minute(number)) for number in (7, 1, 4, 3)]
    timeline = Timeline.from_records(
        SCORES,
        scores,
        processing_time=lambda s: s.at,
        watermark=BoundedOutOfOrderness(timedelta(minutes=1)),
        every=timedelta(minutes=3),
    )
    instants = [
        (instant.processing_time, [score.points for score in instant.elements]) for instant in timeline
    ]
    zero = Timeline[Score]().at(NOON).instants[0].processing_time
    assert instants == [
        (zero + 60_000_000, [1]),
        (zero + 240_000_000, [3, 4]),
        (zero + 420_000_000, [7]),
        (zero + 420_000_000, []),
    ]


@given(window_fns(), triggers(), policies(), st.just(FOREVER) | st.timedeltas(min_value=timedelta(0)))
def test_values_survive_a_pickle(
    windows: WindowFn, trigger: Trigger, policy: BoundedOutOfOrderness, lateness: timedelta
) -> None:
    """Law: windows, triggers, policies and strategies equal their pickled copies, and FOREVER stays identical."""
    strategy = WindowingStrategy(windows, trigger, Accumulation.ACCUMULATING, lateness)
    assert pickle.loads(pickle.dumps((strategy, policy))) == (strategy, policy)
    loaded = pickle.loads(pickle.dumps(WindowingStrategy(allowed_lateness=FOREVER)))
    assert loaded.allowed_lateness is FOREVER


def test_pipelines_survive_a_cloudpickle() -> None:
    """A pipeline that was pickled with its functions gives the same panes."""
    totals = POINTS.window(FixedWindows(timedelta(minutes=1))).combine_per_key(
        Sum(), Min(), into=lambda a, b: a - b
    )
    scores = [Score("a", number, minute(number % 3)) for number in range(7)]
    loaded, source = pickle.loads(cloudpickle.dumps((totals, SCORES)))
    loaded_run = reference.run_batch(loaded, {source: scores})
    assert loaded_run == reference.run_batch(totals, {SCORES: scores})
    assert [pane.value for pane in loaded_run.panes] == [9, 4, 5]


def test_a_description_does_not_change_with_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of a function is relative to the directory in which the process began, wherever it works later."""
    before = describe_function(minute)
    monkeypatch.chdir(tmp_path)
    assert describe_function(minute) == before


def test_the_library_can_be_imported_in_a_removed_directory(tmp_path: Path) -> None:
    """A worker of Spark can run in a directory that another process has removed."""
    code = "import os, sys; os.rmdir(os.getcwd()); import flowalg; print(len(flowalg.__all__) > 40)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = run_program(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    assert process.stdout == "True\n"


def test_a_window_function_is_described_in_plain_english() -> None:
    """``str`` of fixed windows is their description."""
    assert str(FixedWindows(timedelta(minutes=2))) == "fixed windows of 2 minutes"
