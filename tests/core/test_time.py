"""Points in time: two types, whole microseconds, and no guesses about time zones."""

from __future__ import annotations

import json
import pickle
import re
import sqlite3
import struct
from copy import copy, deepcopy
from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowalg import EventTime, FixedWindows, Pane, ProcessingTime, Timeline, event_time, processing_time
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.errors import ArgumentError
from flowalg.runs import Change, Drop, DropReason, PaneInfo, Timing
from tests.support.scores import Score, minute

POINTS = st.datetimes(
    datetime(1, 1, 4), datetime(9999, 12, 29), timezones=st.just(UTC) | st.just(timezone(timedelta(hours=9)))
)


@given(POINTS)
def test_a_point_converts_back_to_its_datetime(point: datetime) -> None:
    """A datetime is converted to microseconds and back without loss, in every time zone and far from the epoch."""
    assert event_time(point).datetime == point


@given(POINTS, POINTS)
def test_points_keep_their_order(first: datetime, second: datetime) -> None:
    """Earlier datetimes have smaller numbers."""
    assert (event_time(first) < event_time(second)) == (first < second)


def test_a_naive_datetime_is_an_error() -> None:
    """A naive datetime is an error that names a timezone-aware one."""
    with pytest.raises(
        ArgumentError,
        match=r"time must be a timezone-aware datetime, such as .*; got datetime.*: it is naive",
    ):
        Timeline[Score]().at(datetime(2024, 1, 1))


def test_a_point_out_of_range_is_an_error() -> None:
    """A point after the end of time is an error."""
    with pytest.raises(ArgumentError, match="must be a point between"):
        event_time(datetime(9999, 12, 31, tzinfo=UTC))


def test_the_bounds_of_time_are_shown_by_name() -> None:
    """The bounds of time are shown by name, not as dates."""
    assert (str(MIN_TIME), str(MAX_TIME)) == ("start of time", "end of time")
    assert str(event_time(minute(0))) == "2024-01-01T12:00:00Z"


DOMAINS = st.sampled_from((EventTime, ProcessingTime))


@given(DOMAINS, st.integers(MIN_TIME, MAX_TIME) | st.integers())
def test_a_point_evaluates_to_itself(domain: type[EventTime | ProcessingTime], micros: int) -> None:
    """The ``repr`` of a point is Python code that makes an equal point of the same domain, in range or not."""
    evaluated: object = eval(repr(domain(micros)))
    assert type(evaluated) is domain
    assert evaluated == micros


@given(DOMAINS, st.integers(MIN_TIME, MAX_TIME))
def test_a_point_can_be_read_from_its_text(domain: type[EventTime | ProcessingTime], micros: int) -> None:
    """Inside the bounds of time, ``str`` of a point is ISO 8601 text from which an equal point can be made."""
    point = domain(micros)
    assert micros in (MIN_TIME, MAX_TIME) or domain(str(point)) == point
    assert f"{point}" == str(point)


@given(DOMAINS, st.integers(MIN_TIME, MAX_TIME))
def test_pickling_and_copying_keep_a_point(domain: type[EventTime | ProcessingTime], micros: int) -> None:
    """Pickling and copying keep the domain and the microseconds."""
    point = domain(micros)
    dumped = [pickle.dumps(point, protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for copied in (
        *map(pickle.loads, dumped),
        copy(point),
        deepcopy(point),
    ):
        assert type(copied) is domain
        assert copied == micros


@given(st.integers(MIN_TIME, MAX_TIME))
def test_a_point_is_a_number_of_microseconds_elsewhere(micros: int) -> None:
    """As a key, in JSON, SQLite, packed bytes, Polars and Arrow a point is the number of its microseconds."""
    point = EventTime(micros)
    assert {micros: 1}[point] == 1
    assert json.dumps({"at": point}) == json.dumps({"at": micros})
    assert struct.pack("<q", point) == struct.pack("<q", micros)
    assert sqlite3.connect(":memory:").execute("SELECT ?", (point,)).fetchone() == (micros,)
    frame = pl.DataFrame({"a": [point], "b": [0]}, schema={"a": pl.Int64, "b": pl.Int64})
    assert frame.select(pl.col("a") == point, pl.col("b") + point, pl.lit(point).alias("c")).row(0) == (
        True,
        micros,
        micros,
    )
    assert pl.Series([point]).dtype == pl.Int64
    assert pa.array([point]).type == pa.int64()
    assert pa.array([point], pa.timestamp("us", "UTC")).to_pylist() == [point.datetime]


def test_arithmetic_on_points_gives_plain_numbers() -> None:
    """The difference of two points and a shifted point are plain numbers: neither has a time domain."""
    point = event_time(minute(0))
    for number in (point + 1, point - point, point // 2, -point):
        assert type(number) is int
    assert type(min(point, MAX_TIME)) is EventTime


def test_the_results_of_a_run_print_times_not_microseconds() -> None:
    """The ``str`` and the ``repr`` of windows, instants, panes and drops have times instead of microseconds."""
    timeline = Timeline[Score]().at(minute(0), watermark=minute(1)).end(minute(2))
    window = FixedWindows(timedelta(minutes=2)).assign(event_time(minute(0)), None)[0]
    assert str(window) == "[2024-01-01T12:00:00Z, 2024-01-01T12:02:00Z)"
    assert repr(window) == (
        "Window(start=EventTime('2024-01-01T12:00:00Z'), end=EventTime('2024-01-01T12:02:00Z'))"
    )
    info = PaneInfo(
        Change.VALUE, Timing.LATE, 0, True, False, processing_time(minute(3)), event_time(minute(2))
    )
    drop = Drop(3, window, DropReason.EXPIRED, info.processing_time)
    for value in (timeline, Pane(3, window, window.last_instant, info), drop):
        assert re.search(r"\d{10}", repr(value)) is None, value
    assert "processing_time=ProcessingTime('2024-01-01T12:03:00Z')" in repr(info)


@pytest.mark.parametrize("size", [timedelta(0), timedelta(seconds=-1)])
def test_a_window_size_must_be_positive(size: timedelta) -> None:
    """A zero or negative size is an error with the argument, the value, its type and an example."""
    with pytest.raises(
        ArgumentError,
        match=r"FixedWindows.size must be a positive timedelta, such as .*; got .* \(timedelta\)",
    ):
        FixedWindows(size)


def test_an_offset_must_be_shorter_than_the_size() -> None:
    """An offset of a whole size or more is an error."""
    with pytest.raises(ArgumentError, match="FixedWindows.offset"):
        FixedWindows(timedelta(minutes=1), timedelta(minutes=1))


def test_a_window_size_must_be_a_timedelta() -> None:
    """A bare number is not a valid size, since it has no unit."""
    with pytest.raises(
        ArgumentError, match=r"FixedWindows.size must be a positive timedelta, such as .*; got 60 \(int\)"
    ):
        FixedWindows(60)  # type: ignore[arg-type]
