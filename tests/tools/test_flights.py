"""The flights example without Spark: its clean-up rules on the real data, its pipeline, and its own comparisons.

The demo compares interpreters with each other; only here are the data and the pipeline held to something else, and
only here is the comparison shown something that it must refuse.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from flowalg_tools.flights import LATENESS, NEW_YORK, STORM, WATERMARK, HourStats, data, hourly, outcomes
from flowalg_tools.flights.data import CleanFlights
from flowalg_tools.flights.demo import WEEK, prepare_folder, report, run_reference
from flowalg_tools.flights.outcomes import Outcome

from flowalg import KV, ArgumentError, Timing
from flowalg.data.shapes import kv_of, shape_of

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def raw() -> pd.DataFrame:
    """The rows as the package has them."""
    rows: pd.DataFrame = data.read_flights()
    return rows


@pytest.fixture(scope="module")
def scheduled(raw: pd.DataFrame) -> pd.Series[pd.Timestamp]:
    """The scheduled departures of all rows, in UTC."""
    points: pd.Series[pd.Timestamp] = data.to_utc(raw, raw["sched_dep_time"])
    return points


@pytest.fixture(scope="module")
def clean(raw: pd.DataFrame) -> CleanFlights:
    """The clean flights."""
    return data.clean(raw)


@pytest.fixture(scope="module")
def departed(clean: CleanFlights) -> pa.Table:
    """The clean departures."""
    table: pa.Table = clean.departed
    return table


def local(departed: pa.Table, name: str) -> pd.Series[pd.Timestamp]:
    """A column of points in time, as New York's clocks showed them."""
    points: pd.Series[pd.Timestamp] = departed[name].to_pandas().dt.tz_convert(NEW_YORK)
    return points


def delays(departed: pa.Table) -> pd.Series[int]:
    """The delays in minutes."""
    return departed["delay"].to_pandas()


def test_cancelled_flights(raw: pd.DataFrame, clean: CleanFlights) -> None:
    """A flight without a departure time is one without a delay; those are left out, and counted."""
    assert (raw["dep_time"].isna() == raw["dep_delay"].isna()).all()
    assert (len(raw), clean.cancelled, clean.departed.num_rows) == (336_776, 8_255, 328_521)


def test_scheduled_is_utc(raw: pd.DataFrame, scheduled: pd.Series[pd.Timestamp]) -> None:
    """The schedule in UTC lies in the hour that the package itself says, on every row, cancelled ones too."""
    assert (scheduled.dt.floor("h") == pd.to_datetime(raw["time_hour"])).all()
    assert (scheduled.dt.minute == raw["minute"]).all()


def test_2400_is_the_end_of_the_day(raw: pd.DataFrame) -> None:
    """2400, which occurs among actual departures, is the midnight at which the day ends."""
    midnights = raw[raw["dep_time"] == 2400]
    assert len(midnights) == 29
    days = pd.to_datetime(midnights[["year", "month", "day"]]) + pd.Timedelta(days=1)
    assert (data.to_utc(midnights, midnights["dep_time"]) == days.dt.tz_localize(NEW_YORK)).all()


@pytest.mark.parametrize(("month", "day", "hhmm"), [(3, 10, 230), (11, 3, 130)])
def test_clock_changes_are_not_guessed(month: int, day: int, hhmm: int) -> None:
    """A time that New York's clocks skipped, and one that they showed twice, are refused."""
    row = pd.DataFrame({"year": [2013], "month": [month], "day": [day]})
    with pytest.raises(Exception, match=f"2013-{month:02}-{day:02} 0{hhmm // 100}:30:00"):
        data.to_utc(row, pd.Series([hhmm]))


@pytest.mark.parametrize(("day", "change"), [("2013-03-10", "07:00Z"), ("2013-11-03", "06:00Z")])
def test_nothing_happens_while_clocks_change(departed: pa.Table, day: str, change: str) -> None:
    """Those nights nothing is scheduled before 5:00, and no flight of the evening before leaves after the change."""
    scheduled, actual = local(departed, "scheduled"), local(departed, "actual")
    point = pd.Timestamp(f"{day} {change}")
    assert scheduled[scheduled >= pd.Timestamp(day, tz=NEW_YORK)].min() >= pd.Timestamp(
        f"{day} 05:00", tz=NEW_YORK
    )
    assert not ((scheduled < point) & (actual >= point)).any()


def test_actual_departure_agrees_with_the_clock(raw: pd.DataFrame) -> None:
    """Schedule plus delay is what New York's clocks showed at departure, on every row; delays are whole minutes."""
    rows = data.departures(raw)
    clock = rows["actual"].dt.tz_convert(NEW_YORK)
    # A day has no 2400 on a clock, only the next day's 0.
    assert (clock.dt.hour * 100 + clock.dt.minute == raw["dep_time"].dropna() % 2400).all()
    assert (rows["delay"] == raw["dep_delay"].dropna()).all()


def test_departures_are_in_order(departed: pa.Table) -> None:
    """Clean departures come in the order in which the flights left."""
    assert departed["actual"].to_pandas().is_monotonic_increasing


def test_replay(departed: pa.Table, tmp_path: Path) -> None:
    """The replay's files hold all departures in order of their file times, and then the row that ends the input."""
    first = data.CleanFlights(departed.slice(0, 1_000), 0)
    count = data.write_replay(first, tmp_path / "replay", 7)
    files = sorted((tmp_path / "replay").iterdir(), key=lambda path: path.stat().st_mtime)
    assert len(files) == count == 8
    *parts, end = (pq.read_table(path) for path in files)
    replayed = pa.concat_tables(parts)
    assert replayed.drop_columns("last").equals(first.departed)
    assert not any(replayed["last"].to_pylist())
    assert end.to_pylist() == [dict.fromkeys(data.SCHEMA.names) | {"last": True}]


def test_watermark_and_lateness_fit_the_data(departed: pa.Table) -> None:
    """Nine of ten flights leave within the watermark's delay, and 99 of 100 within about two hours more."""
    assert delays(departed).quantile([0.9, 0.99]).tolist() == [49, 191]
    assert WATERMARK.delay == timedelta(hours=1)
    assert timedelta(hours=2) == LATENESS


def test_chosen_days(departed: pa.Table) -> None:
    """The storm's day has the greatest mean delay of the year, and the week ends with January's two worst days."""
    means = delays(departed).groupby(local(departed, "scheduled").dt.date).mean()
    assert means.idxmax() == STORM.date()
    start, end = WEEK
    january = means[[day.month == 1 for day in means.index]].nlargest(2)
    assert set(january.index) == {(end - timedelta(days=days)).date() for days in (1, 2)}
    assert end - start == timedelta(days=7)


def test_fewest_departures_leaves_most_hours(departed: pa.Table) -> None:
    """Three in four airport-hours have 13 departures or more, so asking for ten leaves out only unusual ones."""
    hours = [departed["origin"].to_pandas(), departed["scheduled"].to_pandas().dt.floor("h")]
    assert delays(departed).groupby(hours).size().quantile(0.25) == 13


def test_element_type_is_inferred() -> None:
    """What the pipeline gives is known without running it: an airport with the statistics of an hour."""
    assert hourly.shape == kv_of(shape_of(str), shape_of(HourStats))


def test_import_starts_no_spark() -> None:
    """Importing the example brings the pipeline, and starts nothing."""
    code = (
        "import flights, pyspark; flights.hourly; assert pyspark.SparkContext._active_spark_context is None"
    )
    subprocess.run([sys.executable, "-c", code], cwd=EXAMPLES, check=True)


@pytest.fixture(scope="module")
def two_days(clean: CleanFlights) -> pa.Table:
    """The flights scheduled on January's last two days, which were its worst."""
    end = WEEK[1]
    table: pa.Table = clean.scheduled_between(end - timedelta(days=2), end)
    return table


@pytest.fixture
def outcome(two_days: pa.Table, tmp_path: Path) -> Outcome:
    """What the reference gives for the two days."""
    return run_reference(two_days, tmp_path)


def test_two_days_equal_a_group_by(two_days: pa.Table, outcome: Outcome) -> None:
    """The final value of every airport-hour that dropped nothing is what pandas says; nothing is lost in the others."""
    rows = two_days.to_pandas()
    plain = rows.groupby(["origin", rows["scheduled"].dt.floor("h")])["delay"].agg(["size", "mean"])
    expected = {key: HourStats(int(size), float(mean)) for key, size, mean in plain.itertuples()}
    finals = {(origin, window.start.datetime): stats for (origin, window), stats in outcome.finals.items()}
    dropping = {(origin, window.start.datetime) for origin, window in outcome.dropped}
    assert dropping
    assert len(expected) > 100
    assert {hour: one for hour, one in finals.items() if hour not in dropping} == {
        hour: one for hour, one in expected.items() if hour not in dropping
    }
    assert outcome.accounts_for(two_days.num_rows)


def test_some_panes_are_late(outcome: Outcome) -> None:
    """The two days show what the example is about: late panes, and drops."""
    assert outcome.timings[Timing.LATE] > 50
    assert sum(outcome.dropped.values()) > 5


def test_panes_are_stored(outcome: Outcome, tmp_path: Path) -> None:
    """The reference's panes are stored whole, in the columns that Spark's have."""
    stored = pq.read_table(tmp_path / "reference.parquet").to_pylist()
    assert len(stored) == len(outcome.panes)
    pane, row = outcome.panes[-1], stored[-1]
    assert list(row) == ["key", "value", "window", "event_time", "change", "pane"]
    assert (row["key"], row["value"]["departures"]) == (pane.key, pane.value.departures)
    assert row["pane"]["watermark"] == pane.watermark.datetime


def test_comparison_refuses_a_difference(outcome: Outcome) -> None:
    """One departure more in one airport-hour, or an airport-hour too few, is a difference, and is shown."""
    same = outcomes.compare(outcome, outcome)
    assert same.agrees
    assert same.left_out == len(outcome.dropped)
    position, pane = next(
        (at, one) for at, one in enumerate(outcome.panes) if (one.key, one.window) not in outcome.dropped
    )
    wrong = evolve(pane, element=KV(pane.key, HourStats(99, pane.value.mean_delay)))
    panes = outcome.panes
    tampered = evolve(outcome, panes=(*panes[:position], wrong, *panes[position + 1 :]))
    missing = evolve(outcome, panes=tuple(one for one in panes if one.window != pane.window))
    for other in (tampered, missing):
        found = outcomes.compare(outcome, other)
        assert not found.agrees
        assert str(pane.value) in str(found)
    assert "nothing" in str(outcomes.compare(outcome, missing))
    assert not tampered.accounts_for(sum(one.departures for one in outcome.finals.values()))


def test_comparing_nothing_is_no_agreement(outcome: Outcome) -> None:
    """Two engines that gave nothing do not agree: there was nothing to compare."""
    nothing = evolve(outcome, panes=(), dropped={})
    assert not outcomes.compare(nothing, nothing).agrees


def test_report_of_a_loss(clean: CleanFlights, outcome: Outcome) -> None:
    """Engines that agree with each other, on too few departures, do not pass; the last line says so."""
    said: list[object] = []
    assert not report(clean, (outcome, outcome, outcome), said.append)
    lines = [str(line) for line in said]
    assert any(line.startswith("reference: final values and drops do not add up") for line in lines)
    assert lines[-1] == "demo: the interpreters differ"


def test_the_demo_empties_no_folder_of_somebody_else(tmp_path: Path) -> None:
    """What an earlier demo has left goes; a folder that holds anything else is refused, and left as it is."""
    (tmp_path / "replay").mkdir()
    (tmp_path / "storm.svg").touch()
    prepare_folder(tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "batch").mkdir()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ArgumentError, match=r"it holds thesis\.tex"):
        prepare_folder(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
