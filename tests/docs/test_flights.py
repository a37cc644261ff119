"""The flights example without Spark: its clean-up rules on the real data, its pipeline, and its comparisons.

The demo only compares interpreters with each other. These tests compare the data and the pipeline with independent
results, and the comparisons with results that differ.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from flights import LATENESS, NEW_YORK, STORM, WATERMARK, HourStats, data, hourly, outcomes
from flights.data import CleanFlights
from flights.demo import WEEK, prepare_folder, report, run_reference
from flights.outcomes import Outcome

from flowalg import KV
from flowalg.data.shapes import kv_of, shape_of
from flowalg.errors import ArgumentError
from flowalg.runs import Timing
from tests.support.programs import HOURS, run_program

pytestmark = pytest.mark.long  # the package's 336,776 rows take seconds to read
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def raw() -> pd.DataFrame:
    """The raw rows of the package."""
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
    """A column of times, in the time zone of New York."""
    points: pd.Series[pd.Timestamp] = departed[name].to_pandas().dt.tz_convert(NEW_YORK)
    return points


def delays(departed: pa.Table) -> pd.Series[int]:
    """The delays in minutes."""
    return departed["delay"].to_pandas()


def test_cancelled_flights_are_counted_but_not_included(raw: pd.DataFrame, clean: CleanFlights) -> None:
    """Exactly the flights without a departure time have no delay; they are excluded and counted."""
    assert (raw["dep_time"].isna() == raw["dep_delay"].isna()).all()
    assert (len(raw), clean.cancelled, clean.departed.num_rows) == (336_776, 8_255, 328_521)


def test_scheduled_departures_are_in_utc(raw: pd.DataFrame, scheduled: pd.Series[pd.Timestamp]) -> None:
    """The scheduled departure in UTC is in the hour of the package's own column, also for cancelled flights."""
    assert (scheduled.dt.floor("h") == pd.to_datetime(raw["time_hour"])).all()
    assert (scheduled.dt.minute == raw["minute"]).all()


def test_2400_is_the_end_of_the_day(raw: pd.DataFrame) -> None:
    """The time 2400, which occurs among actual departures, is the midnight at the end of the day."""
    midnights = raw[raw["dep_time"] == 2400]
    assert len(midnights) == 29
    days = pd.to_datetime(midnights[["year", "month", "day"]]) + pd.Timedelta(days=1)
    assert (data.to_utc(midnights, midnights["dep_time"]) == days.dt.tz_localize(NEW_YORK)).all()


@pytest.mark.parametrize(("month", "day", "hhmm"), [(3, 10, 230), (11, 3, 130)])
def test_ambiguous_and_skipped_times_are_rejected(month: int, day: int, hhmm: int) -> None:
    """A time that New York's clocks skipped or showed twice raises an error that names the time."""
    row = pd.DataFrame({"year": [2013], "month": [month], "day": [day]})
    with pytest.raises(Exception, match=f"2013-{month:02}-{day:02} 0{hhmm // 100}:30:00"):
        data.to_utc(row, pd.Series([hhmm]))


@pytest.mark.parametrize(("day", "change"), [("2013-03-10", "07:00Z"), ("2013-11-03", "06:00Z")])
def test_no_flight_departs_during_a_clock_change(departed: pa.Table, day: str, change: str) -> None:
    """In these nights no flight is scheduled before 5:00, and no earlier flight leaves after the change."""
    scheduled, actual = local(departed, "scheduled"), local(departed, "actual")
    point = pd.Timestamp(f"{day} {change}")
    assert scheduled[scheduled >= pd.Timestamp(day, tz=NEW_YORK)].min() >= pd.Timestamp(
        f"{day} 05:00", tz=NEW_YORK
    )
    assert not ((scheduled < point) & (actual >= point)).any()


def test_actual_departures_agree_with_the_local_clock(raw: pd.DataFrame) -> None:
    """The scheduled time plus the delay equals the local departure time of every row; delays are whole minutes."""
    rows = data.departures(raw)
    clock = rows["actual"].dt.tz_convert(NEW_YORK)
    # A clock does not show 2400, but 0 of the next day.
    assert (clock.dt.hour * 100 + clock.dt.minute == raw["dep_time"].dropna() % 2400).all()
    assert (rows["delay"] == raw["dep_delay"].dropna()).all()


def test_departures_are_in_order(departed: pa.Table) -> None:
    """Clean departures are in the order of their actual departure."""
    assert departed["actual"].to_pandas().is_monotonic_increasing


def test_a_replay_has_all_departures_in_order(departed: pa.Table, tmp_path: Path) -> None:
    """The files, by modification time, have all departures in order, and then the row that ends the input."""
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


def test_the_storm_and_the_week_are_the_worst_days(departed: pa.Table) -> None:
    """The storm's day has the greatest mean delay of the year, and the week ends with January's two worst days."""
    means = delays(departed).groupby(local(departed, "scheduled").dt.date).mean()
    assert means.idxmax() == STORM.date()
    start, end = WEEK
    january = means[[day.month == 1 for day in means.index]].nlargest(2)
    assert set(january.index) == {(end - timedelta(days=days)).date() for days in (1, 2)}
    assert end - start == timedelta(days=7)


def test_most_airport_hours_have_enough_departures_to_rank(departed: pa.Table) -> None:
    """Three in four airport-hours have 13 departures or more, so the limit of ten excludes only unusual hours."""
    hours = [departed["origin"].to_pandas(), departed["scheduled"].to_pandas().dt.floor("h")]
    assert delays(departed).groupby(hours).size().quantile(0.25) == 13


def test_the_element_type_of_the_pipeline_is_inferred() -> None:
    """Without a run, the type of the output is known: an airport with the statistics of an hour."""
    assert hourly.shape == kv_of(shape_of(str), shape_of(HourStats))


@pytest.mark.long
def test_the_import_does_not_start_spark() -> None:
    """After the import of the example there is a pipeline, but no Spark context."""
    code = (
        "import flights, pyspark; flights.hourly; assert pyspark.SparkContext._active_spark_context is None"
    )
    run_program([sys.executable, "-c", code], cwd=EXAMPLES, check=True)


@pytest.fixture(scope="module")
def two_days(clean: CleanFlights) -> pa.Table:
    """The flights scheduled on the last two days of January, which had the longest delays."""
    end = WEEK[1]
    table: pa.Table = clean.scheduled_between(end - timedelta(days=2), end)
    return table


@pytest.fixture
def outcome(two_days: pa.Table, tmp_path: Path) -> Outcome:
    """The results of the reference interpreter for the two days."""
    return run_reference(two_days, tmp_path)


def test_final_values_equal_a_group_by_in_pandas(two_days: pa.Table, outcome: Outcome) -> None:
    """Every airport-hour without drops has the value of pandas, and values and drops account for all departures."""
    rows = two_days.to_pandas()
    plain = rows.groupby(["origin", rows["scheduled"].dt.floor("h")])["delay"].agg(["size", "mean"])
    expected = {key: HourStats(int(size), float(mean)) for key, size, mean in plain.itertuples()}
    finals = {(origin, window.start.datetime): stats for (origin, window), stats in outcome.finals.items()}
    dropping = {(origin, window.start.datetime) for origin, window in outcome.dropped}
    assert dropping
    assert len(expected) > 100
    assert {hour: stats for hour, stats in finals.items() if hour not in dropping} == {
        hour: stats for hour, stats in expected.items() if hour not in dropping
    }
    assert outcome.accounts_for(two_days.num_rows)


def test_the_two_days_have_late_panes_and_drops(outcome: Outcome) -> None:
    """The example shows late panes and dropped departures."""
    assert outcome.timings[Timing.LATE] > 50
    assert sum(outcome.dropped.values()) > 5


def test_the_panes_of_the_reference_are_stored_like_those_of_spark(outcome: Outcome, tmp_path: Path) -> None:
    """The stored panes have all fields, in the columns of Spark."""
    stored = pq.read_table(tmp_path / "reference.parquet").to_pylist()
    assert len(stored) == len(outcome.panes)
    pane, row = outcome.panes[-1], stored[-1]
    assert list(row) == ["key", "value", "window", "event_time", "change", "pane"]
    assert (row["key"], row["value"]["departures"]) == (pane.key, pane.value.departures)
    assert row["pane"]["watermark"] == pane.watermark.datetime


def test_a_comparison_reports_a_difference(outcome: Outcome) -> None:
    """A different count in an airport-hour, or a missing airport-hour, is a difference and is printed."""
    equal = outcomes.compare(outcome, outcome)
    assert equal.agrees
    assert equal.left_out == len(outcome.dropped)
    position, pane = next(
        (i, pane) for i, pane in enumerate(outcome.panes) if (pane.key, pane.window) not in outcome.dropped
    )
    wrong = evolve(pane, element=KV(pane.key, HourStats(99, pane.value.mean_delay)))
    panes = outcome.panes
    tampered = evolve(outcome, panes=(*panes[:position], wrong, *panes[position + 1 :]))
    missing = evolve(outcome, panes=tuple(other for other in panes if other.window != pane.window))
    for wrong_outcome in (tampered, missing):
        comparison = outcomes.compare(outcome, wrong_outcome)
        assert not comparison.agrees
        assert str(pane.value) in str(comparison)
    assert "nothing" in str(outcomes.compare(outcome, missing))
    assert not tampered.accounts_for(sum(stats.departures for stats in outcome.finals.values()))


def test_engines_without_results_do_not_agree(outcome: Outcome) -> None:
    """A comparison of no values is not an agreement."""
    nothing = evolve(outcome, panes=(), dropped={})
    assert not outcomes.compare(nothing, nothing).agrees


def test_the_demo_fails_if_departures_are_lost(clean: CleanFlights, outcome: Outcome) -> None:
    """Engines that agree on too few departures fail the demo, and the last line reports it."""
    printed: list[object] = []
    assert not report(clean, (outcome, outcome, outcome), printed.append)
    lines = [str(line) for line in printed]
    assert any(line.startswith("reference: final values and drops do not add up") for line in lines)
    assert lines[-1] == "demo: the interpreters differ"


def test_the_demo_removes_only_its_own_files(tmp_path: Path) -> None:
    """The files of an earlier demo are removed; a folder with any other file is rejected and not changed."""
    (tmp_path / "replay").mkdir()
    (tmp_path / "storm.svg").touch()
    prepare_folder(tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "batch").mkdir()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ArgumentError, match=r"it contains thesis\.tex"):
        prepare_folder(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.spark
@pytest.mark.thorough
def test_all_interpreters_agree_in_the_demo(tmp_path: Path) -> None:
    """``make demo`` in an empty folder runs all engines and writes panes and pictures."""
    finished = run_demo(tmp_path, "demo")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1].startswith(
        "demo: all interpreters agree (4 engines over the year on 19,4"
    )
    assert {"reference.parquet", "storm.svg"} <= {file.name for file in tmp_path.glob("demo/*")}


@pytest.mark.thorough
def test_the_demo_without_java_leaves_spark_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java the demo runs the other engines, and says what it left out."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    finished = run_demo(tmp_path, "demo")
    assert finished.returncode == 0, finished.stderr
    assert "Spark is left out: it needs Java 17 or newer" in finished.stdout
    assert "local streaming" in finished.stdout
    assert finished.stdout.splitlines()[-1].startswith(
        "demo: all interpreters agree (2 engines over the year on 19,4"
    )


def test_the_demo_keeps_the_files_of_others(tmp_path: Path) -> None:
    """The demo fails at once with a folder that contains other files."""
    (tmp_path / "thesis.tex").touch()
    assert "it contains thesis.tex" in run_demo(tmp_path, ".").stderr


def run_demo(folder: Path, output: str) -> subprocess.CompletedProcess[str]:
    """Runs the demo in a process of its own."""
    command = [sys.executable, "-m", "flights", output]
    path = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return run_program(command, cwd=folder, env={**os.environ, **path}, seconds=HOURS)
