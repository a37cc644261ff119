"""Frames of pandas, PyArrow and DuckDB as inputs of the local engine, and what else is given for one.

The tests catch a frame of another library that is read otherwise than the same rows in Polars, and an argument of a
wrong type that raises an error of Python, Polars or pandas.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import duckdb
import flowalg_polars
import flowalg_reference as reference
import pandas as pd
import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import batch, streaming
from flowalg_polars.frames.foreign import polars_frame

from flowalg import BoundedOutOfOrderness, Source, ToList
from flowalg.errors import ArgumentError, SchemaMismatchError
from tests.polars.test_streams import frame_of
from tests.support.scores import SCORES, Score, minute

ROWS: Final = [Score("a", 1, minute(0)), Score("b", 2, minute(0.5)), Score("a", 3, minute(2))]
FRAME: Final = frame_of(ROWS)
BY_TEAM: Final = SCORES.key_by(lambda score: score.team).combine_per_key(ToList())
LATE: Final = BoundedOutOfOrderness(timedelta(minutes=5))


def relation(frame: pl.DataFrame) -> duckdb.DuckDBPyRelation:
    """Returns the rows as a relation of DuckDB, in a connection that it keeps."""
    return duckdb.connect().from_arrow(frame.to_arrow())


LIBRARIES: Final[dict[str, Callable[[pl.DataFrame], Any]]] = {
    "Polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "pandas with an index": lambda frame: frame.to_pandas().set_index(pd.Index(["x", "y", "z"], name="id")),
    "pandas over Arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pandas in nanoseconds of a zone": lambda frame: frame.to_pandas().assign(
        at=lambda table: table["at"].astype("datetime64[ns, UTC]").dt.tz_convert("Asia/Tokyo")
    ),
    "PyArrow": lambda frame: frame.to_arrow(),
    "a reader of PyArrow": lambda frame: frame.to_arrow().to_reader(),
    "DuckDB": relation,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_of_any_library_is_an_input(library: str) -> None:
    """Batches and streams have the panes of the same records."""
    wanted = reference.run_batch(BY_TEAM, {SCORES: ROWS}, time=minute(0)).panes
    frame = LIBRARIES[library](FRAME)
    assert batch.run(BY_TEAM, {SCORES: frame}, time=minute(0)).panes == wanted
    frames = streaming.Frames([LIBRARIES[library](FRAME)])
    run = streaming.batches(BY_TEAM, {SCORES: streaming.StreamInput(frames, LATE)}, drain=True)
    assert sorted(repr(pane.element) for part in run for pane in part.panes) == sorted(
        repr(pane.element) for pane in wanted
    )


def test_records_are_an_input_of_a_batch() -> None:
    """As of the reference, and an element that is not a record is an error."""
    run = batch.run(BY_TEAM, {SCORES: ROWS}, time=minute(0))
    assert run.panes == reference.run_batch(BY_TEAM, {SCORES: ROWS}, time=minute(0)).panes
    with pytest.raises(Exception, match=r"source 'scores': element.* must be of type Score; got 3 \(int\)"):
        batch.run(BY_TEAM, {SCORES: [*ROWS, 3]})


@frozen
class Measured:
    """A record with a field that may be missing."""

    name: str
    value: float | None
    number: int


MEASURED: Final = Source("measured", Measured, event_time=lambda _: minute(0))


def test_what_pandas_takes_for_missing_is_null() -> None:
    """NaN is null in a column of floats; a column of integers with one is a column of floats, which is an error."""
    table = pd.DataFrame({"name": ["a", "b"], "value": [1.5, float("nan")], "number": [1, 2]})
    run = batch.run(MEASURED, {MEASURED: table}, time=minute(0))
    assert [row.element for row in run.elements] == [Measured("a", 1.5, 1), Measured("b", None, 2)]
    with pytest.raises(SchemaMismatchError, match="number.*Int64.*Float64"):
        batch.run(MEASURED, {MEASURED: table.assign(number=[1, float("nan")])})
    table["number"] = table["number"].astype("Int64")
    assert batch.run(MEASURED, {MEASURED: table}, time=minute(0)).elements == run.elements


def test_a_table_without_types_of_arrow_is_an_error() -> None:
    """It names the column, where the library does."""
    with pytest.raises(
        ArgumentError, match="measured.*a table whose columns have types of Arrow.*column name"
    ):
        batch.run(MEASURED, {MEASURED: pd.DataFrame({"name": ["a", object()]})})


def test_the_output_of_any_run_is_a_frame() -> None:
    """Panes and elements have the columns and the rows of the compiled frame."""
    compiled = batch.compile(BY_TEAM, {SCORES: FRAME}, time=minute(0)).collect()
    run = reference.run_batch(BY_TEAM, {SCORES: ROWS}, time=minute(0))
    frame = flowalg_polars.output_frame(BY_TEAM, run)
    assert frame.columns == compiled.columns
    assert sorted(map(repr, frame.to_dicts())) == sorted(map(repr, compiled.to_dicts()))
    assert frame.to_pandas()["key"].to_list() == ["a", "b"]
    elements = reference.run_batch(SCORES, {SCORES: ROWS}, time=minute(0))
    rows = batch.compile(SCORES, {SCORES: FRAME}, time=minute(0)).collect()
    assert flowalg_polars.output_frame(SCORES, elements).equals(rows)


WRONG: Final[dict[str, tuple[Callable[[], object], str]]] = {
    "a name": (
        lambda: batch.run(BY_TEAM, {"scores": FRAME}),  # type: ignore[type-var]
        "a key of inputs must be the Source itself, and not its name; got 'scores'",
    ),
    "a bare frame": (
        lambda: batch.run(BY_TEAM, FRAME.to_pandas()),  # type: ignore[call-overload]
        "inputs must be a mapping from sources to a frame each; got a DataFrame of pandas",
    ),
    "a column": (
        lambda: batch.run(BY_TEAM, {SCORES: FRAME["team"]}),
        r"the input of source 'scores' must be a frame .*; got a Series of polars",
    ),
    "a frame of the reference": (
        lambda: reference.run_batch(BY_TEAM, {SCORES: FRAME.to_pandas()}),
        "a list; run a frame on flowalg_polars.batch; got a DataFrame of pandas",
    ),
    "one frame for several": (
        lambda: streaming.Frames(FRAME),
        "Frames.frames must be an iterable of frames, such as a list; got a DataFrame of polars",
    ),
    "a bare frame of a stream": (
        lambda: streaming.StreamInput(FRAME, LATE),  # type: ignore[arg-type]
        r"StreamInput.data must be .*Frames\(\[frame\]\).*; got a DataFrame of polars",
    ),
    "something else": (
        lambda: polars_frame("it", 3),
        r"it must be a frame \(of Polars, pandas, PyArrow or DuckDB\); got 3 \(int\)",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_another_argument_says_what_to_give(what: str) -> None:
    """It names the argument, what was given in one line, and what is valid."""
    call, message = WRONG[what]
    with pytest.raises(ArgumentError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
