"""The command line prints what the library returns; an error is one line and exit code 2."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import games
import polars as pl
import pyarrow as pa
import pytest
from attrs import evolve
from flowalg_laws.strategies.computations import RUNNING_TOTAL
from flowalg_polars import streaming
from flowalg_reference import explain_when, run, run_batch, why_not
from flowalg_spark import pane_table
from flowalg_tools.cli import main
from flowalg_tools.cli.expressions import parse_duration, parse_policy, parse_trigger
from flowalg_tools.cli.failures import describe_failure
from flowalg_tools.cli.files import UnreadableFileError
from flowalg_tools.cli.inputs import TimelineOptions, read_timelines
from flowalg_tools.cli.run import locate_bad_records
from flowalg_tools.what_if import RecordedDelays, what_if
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from pyspark.sql import SparkSession

from flowalg import (
    AtCount,
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    FixedWindows,
    Mode,
    Perfect,
    Repeat,
    Timeline,
    Window,
    event_time,
    explain,
)
from flowalg.errors import ArgumentError
from flowalg.triggers import AfterDelay, And, Trigger
from flowalg.watermarks import ProcessingTimeLag
from tests.support.programs import run_program

ROOT = Path(__file__).parents[2]
MINUTE = timedelta(minutes=1)


def noon(minute: float) -> datetime:
    """A time, in minutes after noon."""
    return datetime(2015, 1, 1, 12, tzinfo=UTC) + minute * MINUTE


SCORED = games.SCORES.key_by(lambda score: score.team).map_values(lambda score: score.points)
RECORDS = [
    (games.Score("red", 5, noon(0.5)), noon(1.5)),
    (games.Score("blue", 7, noon(1)), noon(2.5)),
    (games.Score("red", 3, noon(3)), noon(3.5)),
    (games.Score("red", 9, noon(1.5)), noon(5.5)),
    (games.Score("blue", 2, noon(8.5)), noon(9.5)),
]
TIMES = dict(RECORDS)
TIMELINE = Timeline.from_records(
    games.SCORES, TIMES, processing_time=TIMES.__getitem__, watermark=BoundedOutOfOrderness(MINUTE)
)
TIMES_AND_POLICY = ["--processing-time", "seen", "--watermark", "BoundedOutOfOrderness(minute)"]
FIRST = "2015-01-01T12:00/2015-01-01T12:02"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the scores in every format."""
    rows = [
        {"team": score.team, "points": score.points, "at": score.at, "seen": seen} for score, seen in RECORDS
    ]
    point = pa.timestamp("us", tz="UTC")
    kinds: dict[str, pa.DataType] = {"team": pa.string(), "points": pa.int64(), "at": point, "seen": point}
    schema = pa.schema(kinds)
    table = pa.Table.from_pylist(rows, schema)
    parquet.write_table(table, tmp_path / "scores.parquet")
    arrow_csv.write_csv(table, tmp_path / "scores.csv")
    lines = (json.dumps(row, default=lambda point: point.isoformat()) for row in rows)
    (tmp_path / "scores.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """The output of a command: its results on the standard output, or its error on the error output."""
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert (printed.err if code != 2 else printed.out) == ""
    return printed.err if code == 2 else printed.out


@pytest.mark.parametrize("on", ["reference", "local"])
@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ({"a.csv": ""}, 0, "0 panes"),
        ({"a.csv": "team,points,at,seen\n"}, 0, "0 panes"),
        ({"a.parquet": ""}, 0, "0 panes"),
        ({"a.csv": "team,points,at\n"}, 2, "a.csv: source 'scores': the data have no column seen"),
        ({"a.csv": "team,points,at\n", "b.csv": "scores"}, 2, "a.csv: .* no column seen; they have team, "),
        ({"a.csv": "team,points,at,seen\nred,1,2015-01-01T12:00:00Z,\n"}, 2, "seen is None in row 1"),
    ],
    ids=["no text", "header", "no Parquet", "another header", "beside records", "null"],
)
def test_a_file_without_records_needs_its_columns(
    on: str,
    files: dict[str, str],
    code: int,
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file with a header only has no records if it has the columns, and is an error if it lacks one of times."""
    (folder / "in").mkdir()
    for name, text in files.items():
        (folder / "in" / name).write_text((folder / "scores.csv").read_text() if text == "scores" else text)
    command = ("run", "games:STANDINGS", "--on", on, "--input", str(folder / "in"), *TIMES_AND_POLICY)
    printed = output_of(capsys, *command, "--output", str(folder / "panes.jsonl"), code=code)
    assert re.search(message, printed)


def test_explain_prints_the_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    """``flowalg explain`` prints ``explain(pipeline)`` and the number of functions that run inside Spark."""
    printed = output_of(capsys, "explain", "games:STANDINGS")
    assert printed.startswith(explain(games.STANDINGS))
    assert printed.endswith("Functions of steps: all 2 run inside the engines, as columns.\n")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_why_prints_the_explanations_of_a_key(
    suffix: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``flowalg why --key`` explains every pane of a window, from records in a file of any format."""
    printed = output_of(
        capsys,
        *("why", "games:STANDINGS", f"scores=scores.{suffix}", *TIMES_AND_POLICY),
        *("--window", FIRST, "--key", "red"),
    )
    whole = run(games.STANDINGS, {games.SCORES: TIMELINE})
    panes = [pane for pane in whole.panes if pane.key == "red" and pane.window == window(0, 2)]
    assert len(panes) == 2
    assert printed == "\n\n".join(str(explain_when(whole, pane)) for pane in panes) + "\n"


def test_why_explains_a_missing_pane(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``flowalg why --at`` explains what the trigger of a window without panes was waiting for."""
    arguments = ["--window", FIRST, "--key", "blue", "--at", "2015-01-01T12:02:45"]
    printed = output_of(capsys, "why", "games:STANDINGS", "scores.csv", *TIMES_AND_POLICY, *arguments)
    whole = run(games.STANDINGS, {games.SCORES: TIMELINE})
    assert printed == f"{why_not(whole, 'blue', window(0, 2), at=noon(2.75))}\n"


TOTALS_SO_FAR = SCORED.process(RUNNING_TOTAL)
"""A pipeline with a computation, which the command reads from this module's file."""


def test_why_explains_a_computation_without_a_window(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without ``--window``, ``flowalg why`` explains the outputs of a computation, and what a key is waiting for."""
    pipeline = "tests.tools.test_command_line:TOTALS_SO_FAR"
    whole = run(TOTALS_SO_FAR, {games.SCORES: TIMELINE})
    explained = [str(explain_when(whole, output)) for output in whole.elements if output.key == "red"]
    arguments = ["why", pipeline, "scores.csv", *TIMES_AND_POLICY]
    assert output_of(capsys, *arguments, "--key", "red") == "\n\n".join(explained) + "\n"
    assert output_of(capsys, *arguments, "--key", "green") == f"{why_not(whole, 'green')}\n"
    printed = output_of(capsys, *arguments, "--key", "red", "--at", "2015-01-01T12:02")
    assert printed == "\n\n".join([explained[0], str(why_not(whole, "red", at=noon(2)))]) + "\n"
    assert output_of(capsys, *arguments).count("was emitted at") == len(RECORDS)
    error = output_of(capsys, "why", "games:STANDINGS", "scores.csv", *TIMES_AND_POLICY, code=2)
    assert "--window must be a window, since the pipeline has no computation" in error


def window(start: float, end: float) -> Window:
    """A window, in minutes after noon."""
    return Window(event_time(noon(start)), event_time(noon(end)))


def test_why_reads_a_timeline_of_a_module(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A timeline, a mapping from sources to timelines, or a function in a module of the working directory works."""
    (folder / "recorded_scores.py").write_text(
        "from games import SCORES, Score, when\n"
        "from datetime import UTC, datetime, timedelta\n"
        "from flowalg import Timeline, MonotonicTimestamps\n"
        "def make():\n"
        "    scores = [Score('red', 1, datetime(2015, 1, 1, 12, tzinfo=UTC))]\n"
        "    return Timeline.from_records(SCORES, scores, processing_time=when,\n"
        "        watermark=MonotonicTimestamps())\n"
        "RECORDED = make()\n"
        "BY_SOURCE = {SCORES: RECORDED}\n"
    )
    answers = {
        output_of(capsys, "why", "games:STANDINGS", f"recorded_scores:{name}", "--window", FIRST)
        for name in ("make", "RECORDED", "BY_SOURCE")
    }
    (answer,) = answers
    assert "because its window ended" in answer or "was emitted at" in answer


@pytest.mark.parametrize("on", ["local", "reference"])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_run_writes_the_panes_of_a_timeline(
    suffix: str, on: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Panes have the same columns as in Spark; CSV has a column for each field of a struct."""
    printed = output_of(
        capsys,
        *(
            "run",
            "games:STANDINGS",
            "--on",
            on,
            "--input",
            f"scores.{suffix}",
            *TIMES_AND_POLICY,
            "--output",
            f"panes.{suffix}",
        ),
    )
    assert printed == f"5 panes (3 early, 1 on time, 1 late) to panes.{suffix}\n"
    panes = run(games.STANDINGS, {games.SCORES: TIMELINE}).panes
    expected = pane_table(games.STANDINGS, panes)
    path = folder / f"panes.{suffix}"
    match suffix:
        case "parquet":
            assert parquet.read_table(path).equals(expected)
        case "csv":
            assert arrow_csv.read_csv(path)["value.points"].to_pylist() == [
                pane.value.points for pane in panes
            ]
        case _:
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            assert [row["value"]["points"] for row in rows] == [pane.value.points for pane in panes]
            assert rows[0]["event_time"] == "2015-01-01T12:01:59.999999+00:00"


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` shows it and does nothing else."""
    assert output_of(capsys, "--version") == f"flowalg {version('flowalg')}\n"


def test_records_are_divided_into_micro_batches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--batch-rows`` and ``--every`` divide them; without either, many records are not as many micro-batches."""
    options = TimelineOptions(processing_time="seen", watermark=Perfect(), every=None, ends=False)
    inputs = [f"scores={folder / 'scores.csv'}"]

    def sizes(options: TimelineOptions) -> list[int]:
        (timeline,) = read_timelines(games.STANDINGS, inputs, options).values()
        return [len(instant.elements) for instant in timeline]

    assert sizes(options) == [1, 1, 1, 1, 1]
    assert sizes(evolve(options, most=5)) == [1, 1, 1, 1, 1]
    assert sizes(evolve(options, most=3)) == [2, 2, 1]
    assert sizes(evolve(options, most=3, batch_rows=4)) == [4, 1]
    run = (
        "run",
        "games:STANDINGS",
        "--input",
        "scores=scores.csv",
        "--output",
        "panes.csv",
        *TIMES_AND_POLICY,
    )
    separate = output_of(capsys, *run)
    together = output_of(capsys, *run, "--batch-rows", "5")
    assert "panes" in separate
    assert separate != together == output_of(capsys, *run, "--every", "1000 * hour")
    error = output_of(capsys, *run, "--batch-rows", "5", "--every", "hour", code=2)
    assert "--every must be omitted with --batch-rows; got 'hour'" in " ".join(error.split())
    batch = ("run", "games:STANDINGS", "--input", "scores=scores.csv", "--output", "panes.csv")
    error = output_of(capsys, *batch, "--batch-rows", "5", code=2)
    assert "--batch-rows must be omitted with a batch, which has no --processing-time" in " ".join(
        error.split()
    )


@pytest.mark.parametrize("on", ["local", "reference"])
def test_run_without_times_is_a_batch(on: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without ``--processing-time`` every window has one pane; the local engine needs no Spark for it."""
    arguments = ("--input", "scores=scores.csv", "--output", "panes.parquet")
    printed = output_of(capsys, "run", "games:STANDINGS", "--on", on, *arguments)
    assert printed == "4 panes (4 on time) to panes.parquet\n"
    stored = parquet.read_table(folder / "panes.parquet").to_pylist()
    assert [(row["key"], row["value"]) for row in stored] == [
        (pane.key, {"points": pane.value.points, "scores": pane.value.scores})
        for pane in run_batch(games.STANDINGS, {games.SCORES: TIMES}).panes
    ]


@pytest.mark.parametrize("on", ["local", "reference"])
@pytest.mark.parametrize("times", [[], TIMES_AND_POLICY], ids=["batch", "stream"])
def test_run_writes_the_elements_of_a_pipeline_without_a_grouping(
    times: list[str], on: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output is every element with both times, and no panes."""
    more = ("--input", "scores=scores.csv", "--output", "elements.parquet", *times)
    assert output_of(capsys, "run", "games:SCORES", "--on", on, *more) == "5 elements to elements.parquet\n"
    stored = parquet.read_table(folder / "elements.parquet")
    assert stored.column_names == ["team", "points", "at", "event_time", "processing_time"]
    assert Counter(stored["points"].to_pylist()) == Counter(score.points for score in TIMES)


@pytest.mark.parametrize("more", [[], ["--progress"], ["--key", "red", "--title", "Red"]])
def test_draw_writes_a_picture(more: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``flowalg draw`` writes an SVG file and prints the number of panes."""
    printed = output_of(
        capsys, "draw", "games:STANDINGS", "scores.csv", *TIMES_AND_POLICY, "--output", "new/run.svg", *more
    )
    assert printed == "5 panes, drawn in new/run.svg\n"
    assert "</svg>" in (folder / "new" / "run.svg").read_text()


def test_what_if_prints_the_table_and_the_recommendation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``flowalg what-if`` takes the keys and windows of the first grouping, and prints what ``what_if`` returns."""
    grid = [
        "--policy",
        "BoundedOutOfOrderness(minute)",
        "--policy",
        "ProcessingTimeLag(5 * minute)",
        "--lateness",
        "0 * minute",
    ]
    printed = output_of(
        capsys,
        *(
            "what-if",
            "games:STANDINGS",
            "scores.parquet",
            "--processing-time",
            "seen",
            *grid,
            "--output",
            "grid.svg",
        ),
    )
    records = RecordedDelays.of(
        [score.at for score, _ in RECORDS],
        [seen for _, seen in RECORDS],
        keys=[score.team for score, _ in RECORDS],
    )
    results = what_if(
        records,
        FixedWindows(2 * MINUTE),
        policies=[BoundedOutOfOrderness(MINUTE), ProcessingTimeLag(5 * MINUTE)],
        lateness=[timedelta(0)],
    )
    assert results.table() in printed
    assert str(results.recommendation()) in printed
    assert (folder / "grid.svg").exists()


DIRTY_LINES = (
    "red,five,2015-01-01T12:00:30Z,2015-01-01T12:01:00Z",
    ",3,2015-01-01T12:00:30Z,2015-01-01T12:01:00Z",
    "red,1,9999-12-31T00:00:00Z,2015-01-01T12:01:00Z",
)
"""A value of another type, a null, and a time that no window contains."""


@pytest.mark.parametrize("on", ["local", "reference"])
@pytest.mark.parametrize("times", [[], TIMES_AND_POLICY], ids=["batch", "stream"])
def test_run_writes_bad_records_next_to_the_output(
    times: list[str], on: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``--dead-letters`` the output is that of the good records, and a file has the others with their errors."""
    command = ("run", "games:STANDINGS", "--on", on, *times)
    clean = output_of(capsys, *command, "--input", "scores.csv", "--output", "clean.csv")
    with (folder / "scores.csv").open("a", encoding="utf-8") as lines:
        lines.writelines(f"{line}\n" for line in DIRTY_LINES)
    printed = output_of(capsys, *command, "--input", "scores.csv", "--dead-letters", "--output", "panes.csv")
    assert printed == f"{clean.replace('clean', 'panes')}3 bad records to panes.dead-letters.csv\n"
    times_of_run = {"pane.processing_time"}
    clean_panes, panes = (arrow_csv.read_csv(folder / f"{name}.csv") for name in ("clean", "panes"))
    compared = [name for name in panes.column_names if name not in times_of_run]
    assert panes.select(compared).equals(clean_panes.select(compared))
    stored = arrow_csv.read_csv(folder / "panes.dead-letters.csv").to_pylist()
    assert {row["stage"] for row in stored} == {"Source('scores')"}
    assert [row["error"].partition(": ")[2] for row in stored] == [
        "scores.csv: row 6: points must be of type int64; got 'five'",
        "team must be of type str; got null; remove such rows, keep them apart with dead_letters=True, or declare it "
        "as str | None",
        "the event time must be in [0001-01-03T00:00:00Z, 9999-12-30T00:00:00Z); got 9999-12-31T00:00:00.000000Z",
    ]
    assert json.loads(stored[1]["record"])["points"] == 3


@pytest.mark.parametrize("on", ["local", "reference"])
def test_run_follows_a_published_watermark(on: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--source-watermark`` the policy ``Perfect`` is the watermark that some records carry."""
    marks = [None, noon(1), noon(3), None, noon(9)]
    rows = [
        {"team": score.team, "points": score.points, "at": score.at, "seen": seen, "mark": mark}
        for (score, seen), mark in zip(RECORDS, marks, strict=True)
    ]
    parquet.write_table(pa.Table.from_pylist(rows), folder / "marked.parquet")
    arguments = ("--processing-time", "seen", "--source-watermark", "mark", "--output", "panes.parquet")
    output_of(capsys, "run", "games:STANDINGS", "--on", on, "--input", "marked.parquet", *arguments)
    published = dict(zip(TIMES, marks, strict=True))
    timeline = Timeline.from_records(
        games.SCORES,
        TIMES,
        processing_time=TIMES.__getitem__,
        watermark=Perfect(),
        published=published.__getitem__,
    )
    expected = pane_table(games.STANDINGS, run(games.STANDINGS, {games.SCORES: timeline}).panes)
    assert parquet.read_table(folder / "panes.parquet").equals(expected)


def run_on_spark(folder: Path, on: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Runs the pipeline in a separate process, which prints nothing to the error output if it is not a terminal."""
    finished = run_program(
        [sys.executable, "-m", "flowalg_tools", "run", "games:STANDINGS", "--on", on, "--input", "in", *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "docs" / "examples")},
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished


def run_in_session(capsys: pytest.CaptureFixture[str], folder: Path, *more: str) -> str:
    """Runs the streaming pipeline in the active session, whose folder is another, and returns what it prints."""
    command = ("run", "games:STANDINGS", "--on", "streaming", "--input", str(folder / "in"))
    return output_of(capsys, *command, *TIMES_AND_POLICY, *more)


@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.parametrize("on", ["batch", "streaming"])
def test_run_on_spark_writes_the_final_values(on: str, folder: Path) -> None:
    """Both Spark interpreters write the final values of the windows, each in a process of its own."""
    (folder / "in").mkdir()
    (folder / "scores.csv").rename(folder / "in" / "scores.csv")
    more = TIMES_AND_POLICY if on == "streaming" else []
    run_on_spark(folder, on, "--output", "panes.jsonl", *more)
    require_final_values(folder)


def test_run_in_an_active_session_writes_the_final_values(
    folder: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """A batch in the session of this process, whose folder is another, writes them as well."""
    paths = ("--input", str(folder / "scores.csv"), "--output", str(folder / "panes.jsonl"))
    output_of(capsys, "run", "games:STANDINGS", "--on", "batch", *paths)
    require_final_values(folder)


def require_final_values(folder: Path) -> None:
    """Fails unless the folder of the output has the final values of the windows of ``scores.csv``."""
    rows = [
        json.loads(line) for file in folder.glob("panes.jsonl/*.json") for line in file.open(encoding="utf-8")
    ]
    values = {(row["key"], row["window"]["start"]): row["value"]["points"] for row in rows}
    assert values == {
        ("red", "2015-01-01T12:00:00.000000Z"): 14,
        ("blue", "2015-01-01T12:00:00.000000Z"): 7,
        ("red", "2015-01-01T12:02:00.000000Z"): 3,
        ("blue", "2015-01-01T12:08:00.000000Z"): 2,
    }


@pytest.mark.thorough
def test_a_stream_reads_a_file_alone(
    folder: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lists neither folders of partitions beside the file, nor files that the name of the file matches."""
    (folder / "day=1").mkdir()
    for name in ("day=1/scores[1].csv", "scores1.csv"):
        (folder / name).write_text("nothing that is read")
    (folder / "scores.csv").rename(folder / "scores[1].csv")
    (folder / "other.csv").write_bytes((folder / "scores[1].csv").read_bytes())
    for name in ("scores[1]", "other"):
        command = ("run", "games:STANDINGS", "--on", "streaming", "--input", str(folder / f"{name}.csv"))
        printed = output_of(
            capsys, *command, *TIMES_AND_POLICY, "--output", str(folder / f"{name}-panes.jsonl")
        )
        assert re.match(r"[1-9]\d* panes and drops are in the files of", printed)


def test_a_streaming_run_can_be_replayed(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--replay`` reads the metrics of a streaming run and its input, and prints the same explanations.

    With ``--batch-rows`` the micro-batches of the run have this number of records, in order of processing time. The
    command uses the active session, and does not stop it.
    """
    (folder / "in").mkdir()
    (folder / "scores.csv").rename(folder / "in" / "scores.csv")
    output = folder / "panes.parquet"
    shown = run_in_session(capsys, folder, "--output", str(output), "--metrics", "--batch-rows", "2")
    assert shown == f"4 panes and drops are in the files of {output}\n"
    assert spark.range(3).count() == 3
    printed = output_of(
        capsys, *("why", "games:STANDINGS", "in", "--replay", "panes.parquet", "--window", FIRST)
    )
    batches = Timeline.micro_batches(
        games.SCORES,
        [list(TIMES)[:2], list(TIMES)[2:4], list(TIMES)[4:]],
        processing_time=TIMES.__getitem__,
        watermark=BoundedOutOfOrderness(MINUTE),
    )
    replayed = run(games.STANDINGS, {games.SCORES: batches}, mode=Mode.MICRO_BATCH)
    first = Window(event_time(noon(0)), event_time(noon(2)))
    panes = [pane for pane in replayed.panes if pane.window == first]
    assert len(panes) == 2
    assert printed == "\n\n".join(str(explain_when(replayed, pane)) for pane in panes) + "\n"
    output_of(capsys, *("draw", "games:STANDINGS", "in", "--replay", "panes.parquet", "--output", "run.svg"))
    assert (folder / "run.svg").exists()
    error = output_of(capsys, "why", "games:STANDINGS", "in", "--replay", "in", "--window", FIRST, code=2)
    assert "the Parquet output of a run with --metrics" in error


CHANGED = """
import games
from flowalg import AtCount, AtPeriod, AtWatermark, Count, FixedWindows, Sum

LATER = games.SCORES.key_by(games.team_of).apply(games.in_two_minutes).filter(lambda pair: pair.value.points > 1)
LATER = LATER.apply(games.standings)
OTHER = (
    games.SCORES.key_by(lambda score: score.points)
    .window(
        FixedWindows(2 * games.MINUTE),
        trigger=AtWatermark().with_early_firings(AtPeriod(games.MINUTE)).with_late_firings(AtCount(1)),
        allowed_lateness=5 * games.MINUTE,
    )
    .combine_per_key(Sum.of(games.points_of), Count(), into=games.Standing)
)
"""


UNSUPPORTED = """
import games
from flowalg import Count, FixedWindows, Sum

counts = games.SCORES.key_by(lambda score: score.points / 2).combine_per_key(Count())
totals = games.SCORES.key_by(games.team_of).window(FixedWindows(games.MINUTE)).combine_per_key(Sum.of(games.points_of))
OUTPUTS = {"counts": counts, "totals": totals}
"""


def test_a_plan_shows_all_unsupported_parts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``flowalg plan`` has an error in one line for each part that the engine cannot run, with its stage."""
    (folder / "unsupported.py").write_text(UNSUPPORTED)
    rows = pl.read_parquet("scores.parquet").drop("seen")
    stream = streaming.StreamInput(streaming.Frames([rows]), BoundedOutOfOrderness(MINUTE))
    list(streaming.batches(games.STANDINGS, {games.SCORES: stream}, checkpoint="state"))
    first, second = output_of(capsys, "plan", "unsupported:OUTPUTS", "state", code=2).splitlines()
    assert first.startswith("error: combine_per_key(Count): keys must not contain floats")
    assert second.startswith(
        "error: combine_per_key(Sum) over fixed windows of a minute has no allowed_lateness"
    )
    assert second.endswith(
        "pass window(..., allowed_lateness=timedelta(...)), or FOREVER if that is intended"
    )


@pytest.mark.usefixtures("spark")
def test_a_plan_for_a_query_of_spark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For a checkpoint of Spark, ``flowalg plan`` accepts another function, and rejects keys of another type.

    After ``flowalg reshard`` it accepts the new number of shards.
    """
    (folder / "in").mkdir()
    (folder / "scores.csv").rename(folder / "in" / "scores.csv")
    (folder / "changed.py").write_text(CHANGED)
    state, wider = str(folder / "state"), str(folder / "wider")
    run_in_session(capsys, folder, "--output", str(folder / "panes.jsonl"), "--checkpoint", state)
    for arguments, code, line in (
        (("plan", "changed:LATER", state), 0, "The pipeline can continue"),
        (("plan", "changed:OTHER", state), 1, "The pipeline cannot continue"),
        (("plan", "changed:LATER", state, "--shards", "4"), 1, "written with 2 shards"),
        (
            ("reshard", state, "--shards", "4", "--into", wider, "--partitions", "2"),
            0,
            "continue from there with shards=4, in a session with 2 shuffle partitions",
        ),
        (("plan", "changed:LATER", wider, "--shards", "4"), 0, "The pipeline can continue"),
    ):
        assert line in output_of(capsys, *arguments, code=code)


def test_diff_shows_a_timeline_that_distinguishes_two_triggers(capsys: pytest.CaptureFixture[str]) -> None:
    """``flowalg diff`` exits with 1 if it finds a timeline, and otherwise with 0."""
    different = output_of(capsys, "diff", "AtCount(2).repeat()", "AtCount(2)", "--timelines", "200", code=1)
    assert "left:  at every 2 elements" in different
    same = output_of(capsys, "diff", "AtCount(2)", "AtCount(2) & AtCount(1)", "--timelines", "20")
    assert "no difference found in 20 timelines" in same


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("AtCount(2)", AtCount(2)),
        ("AtPeriod(5 * minute).repeat()", Repeat(AtPeriod(5 * MINUTE))),
        ("AtCount(count=3) & AfterDelay(timedelta(minutes=1))", And(AtCount(3), AfterDelay(MINUTE))),
        (
            "AtWatermark().with_early_firings(AtPeriod(minute)).with_late_firings(AtCount(1))",
            AtWatermark().with_early_firings(AtPeriod(MINUTE)).with_late_firings(AtCount(1)),
        ),
    ],
)
def test_a_trigger_is_a_python_expression(text: str, trigger: Trigger) -> None:
    """An expression in flowalg's public names evaluates as it does in Python."""
    assert parse_trigger(text, "TRIGGER") == trigger


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "AtCount.__class__",
        "(lambda: AtCount(1))()",
        "[AtCount(1) for _ in (1,)][0]",
        "AtCount(2) + AtCount(1)",
        "AtCount(2",
        "AtCount()",
        "AtCount(2).repeatedly()",
        "'AtCount(2)'",
        "minute",
    ],
)
def test_other_expressions_are_rejected(text: str) -> None:
    """Only expressions over flowalg's own values are evaluated."""
    with pytest.raises(ArgumentError):
        parse_trigger(text, "TRIGGER")


def test_policies_and_durations_are_expressions_too() -> None:
    """Policies and durations use the same names as triggers."""
    assert parse_policy("BoundedOutOfOrderness(minute + 30 * second)", "POLICY") == BoundedOutOfOrderness(
        1.5 * MINUTE
    )
    assert parse_duration("2 * hour - minute", "DURATION") == 119 * MINUTE


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["explain", "games"], "a module and an attribute"),
        (["explain", "games:NOTHING"], "games has no NOTHING; its pipelines are SCORES, STANDINGS"),
        (["explain", "no_such_module:X"], "there is no module no_such_module"),
        (["explain", "games:MINUTE"], "a PCollection"),
        (["run", "games:STANDINGS", "--input", "games=scores.csv", "--output", "x.csv"], "scores=PATH"),
        (["run", "games:STANDINGS", "--input", "scores=none.csv", "--output", "x.csv"], "that exists"),
        (["run", "games:STANDINGS", "--input", "scores.csv", "--output", "x.txt"], ".jsonl"),
        (
            [
                "run",
                "games:STANDINGS",
                "--input",
                "scores.csv",
                "--output",
                "x.csv",
                "--processing-time",
                "of",
            ],
            "of",
        ),
        (
            [
                "run",
                "games:STANDINGS",
                "--on",
                "batch",
                "--input",
                "scores.csv",
                "--output",
                "x",
                "--processing-time",
                "at",
            ],
            "--on batch",
        ),
        (["why", "games:STANDINGS", "scores.csv", "--window", FIRST], "--processing-time"),
        (
            ["why", "games:STANDINGS", "scores.csv", "--processing-time", "seen", "--window", "noon/later"],
            "ISO 8601",
        ),
        (
            [
                "why",
                "games:STANDINGS",
                "scores.csv",
                "--processing-time",
                "seen",
                "--window",
                "2015-01-02/2015-01-03",
            ],
            "add --key",
        ),
        (["diff", "AtCount(2)", "AtCount(-2)"], "positive"),
        (
            ["draw", "games:STANDINGS", "scores.csv", "--processing-time", "seen", "--output", "run.pdf"],
            ".svg",
        ),
        (
            [
                "draw",
                "games:STANDINGS",
                "scores.csv",
                *TIMES_AND_POLICY,
                "--output",
                "x.svg",
                "--key",
                "a",
                "--progress",
            ],
            "--progress",
        ),
    ],
)
def test_an_error_is_one_line(
    arguments: list[str], word: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line states what is valid, without a traceback."""
    error = output_of(capsys, *arguments, code=2)
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert word in error


BROKEN_MODULES = {
    "1 / 0": "raised ZeroDivisionError: division by zero, at {place}:1;",
    "x = (": "raised SyntaxError: '(' was never closed",
    "import no_such_library": "raised ModuleNotFoundError: No module named 'no_such_library', at {place}:1;",
    "import sys\nsys.exit(0)": "raised SystemExit: 0, at {place}:2;",
    "raise ValueError('a\\nb')": "raised ValueError: a b, at {place}:1;",
    "from datetime import timedelta\nimport flowalg\nflowalg.FixedWindows(timedelta(0))": "positive timedelta",
    "def __getattr__(name): raise ValueError(name)": "raised ValueError: STANDINGS, at {place}:1;",
}


@pytest.mark.parametrize("number", range(len(BROKEN_MODULES)))
@pytest.mark.parametrize(
    "command",
    [
        ["explain", "MODULE:STANDINGS"],
        ["run", "MODULE:STANDINGS", "--input", "scores=scores.csv", "--output", "x.csv"],
        ["why", "games:STANDINGS", "MODULE:STANDINGS", "--window", FIRST],
        ["diff", "AtCount(2)", "MODULE:STANDINGS"],
        ["plan", "MODULE:STANDINGS", "checkpoint"],
    ],
    ids=lambda command: command[0],
)
def test_a_module_that_raises_is_one_line(
    number: int, command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a module raises when it is imported, the line has it, its place, and how to see the traceback."""
    code, message = list(BROKEN_MODULES.items())[number]
    name = f"broken_{number}"
    path = folder / f"{name}.py"
    path.write_text(code)
    error = output_of(capsys, *(word.replace("MODULE", name) for word in command), code=2)
    sys.modules.pop(name, None)
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message.format(place=path) in error
    assert error.endswith(f"; python -c 'import {name}' shows the traceback\n")


def test_a_function_of_timelines_that_raises_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of a function that makes the timelines says how to call it."""
    (folder / "no_timelines.py").write_text("def lines():\n    return {}['a']\n")
    error = output_of(capsys, "why", "games:STANDINGS", "no_timelines:lines", "--window", FIRST, code=2)
    assert f"raised KeyError: 'a', at {folder / 'no_timelines.py'}:2; python -c '" in error
    assert "import no_timelines; no_timelines.lines()' shows" in error


GOOD = "red,5,2015-01-01T12:00:30Z,2015-01-01T12:01:30Z"
HEADER = f"team,points,at,seen\n{GOOD}\n"
BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "a value of another type": (
        "bad.csv",
        f"{HEADER}red,five,2015-01-01T12:00:30Z,\n".encode(),
        "bad.csv: row 2: points must be of type int64; got 'five'",
    ),
    "a time that is not a time": (
        "bad.csv",
        f"{HEADER}{GOOD}\nred,5,noon,\n".encode(),
        "bad.csv: row 3: at must be a time, such as 2024-01-01T12:00:00Z; got 'noon'",
    ),
    "a null": (
        "bad.csv",
        f"{HEADER}red,,2015-01-01T12:00:30Z,\n".encode(),
        "bad.csv: source 'scores': points must be of type int; got null in row 2; remove such rows",
    ),
    "a null event time": (
        "bad.csv",
        f"{HEADER}red,5,,\n".encode(),
        "bad.csv: source 'scores': at must be of type datetime; got null in row 2; remove such rows",
    ),
    "a missing column": (
        "bad.csv",
        b"team,at\nred,2015-01-01T12:00:30Z\n",
        "bad.csv: points must be a column; the header has team, at",
    ),
    "a row with too few columns": (
        "bad.csv",
        f"{HEADER}red,5\n".encode(),
        "bad.csv: row 2 must have 4 columns, team, points, at, seen; got 2: ['red', '5']",
    ),
    "another encoding": (
        "bad.csv",
        HEADER.encode() + "réd".encode("latin-1"),
        "bad.csv: row 2 is not valid UTF-8",
    ),
    "a column twice": (
        "bad.csv",
        b"team,points,at,points\nred,5,2015-01-01T12:00:30Z,6\n",
        "bad.csv: the column points is in the header 2 times",
    ),
    "a JSON value of another type": (
        "bad.jsonl",
        b'{"team": "red", "points": "five", "at": "2015-01-01T12:00:30Z"}\n',
        "bad.jsonl: row 1: points must be of type int64; got 'five'",
    ),
    "a broken line of JSON": (
        "bad.jsonl",
        b'{"team": "red",\n',
        "bad.jsonl: row 1 is not valid JSON: Expecting property name",
    ),
    "a broken Parquet file": (
        "bad.parquet",
        b"PAR1",
        "source 'scores': bad.parquet cannot be read as Parquet: ",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_data_is_an_error_of_one_line(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line has the file and, where there is one, the row, the column and the value."""
    file, data, message = BAD_FILES[name]
    (folder / file).write_bytes(data)
    arguments = ["run", "games:STANDINGS", "--input", f"scores={file}", "--output", "panes.csv"]
    error = output_of(capsys, *arguments, code=2)
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["why", "games:STANDINGS", "bad.csv", *TIMES_AND_POLICY, "--window", FIRST],
        ["draw", "games:STANDINGS", "bad.csv", *TIMES_AND_POLICY, "--output", "run.svg"],
        ["what-if", "games:STANDINGS", "scores=bad.csv", "--processing-time", "seen"],
    ],
    ids=lambda command: command[0],
)
def test_a_bad_processing_time_is_an_error_of_one_line(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that reads records names the file, the row, the column and the value."""
    (folder / "bad.csv").write_text(f"{HEADER}red,5,2015-01-01T12:00:30Z,soon\n")
    error = output_of(capsys, *command, code=2)
    assert error == "error: bad.csv: row 2: seen must be a time, such as 2024-01-01T12:00:00Z; got 'soon'\n"


@pytest.mark.spark
@pytest.mark.thorough
def test_a_stream_divides_records_and_writes_bad_ones(folder: Path) -> None:
    """``--batch-rows`` divides records in order of processing time, and ``--dead-letters`` keeps bad ones."""
    lines = [
        f"red,{number},2015-01-01T12:0{number}:30Z,2015-01-01T12:0{9 - number}:00Z" for number in range(7)
    ]
    data = folder / "in"
    data.mkdir()
    rows = pa.Table.from_pylist(
        [
            {"team": team, "points": int(points) if points != "3" else None, "at": at, "seen": seen}
            for team, points, at, seen in (line.split(",") for line in lines)
        ]
    )
    point = pa.timestamp("us", tz="UTC")
    kinds: dict[str, pa.DataType] = {"team": pa.string(), "points": pa.int64(), "at": point, "seen": point}
    parquet.write_table(rows.cast(pa.schema(kinds)), data / "scores.parquet")
    done = run_on_spark(
        folder,
        "streaming",
        *TIMES_AND_POLICY,
        "--batch-rows",
        "3",
        "--dead-letters",
        "--output",
        "out.parquet",
    )
    assert ", 1 of them bad records, are in the files of out.parquet" in done.stdout
    batches = sorted((folder / "out.parquet.checkpoint" / "batches" / "scores").iterdir())
    assert [parquet.read_table(path)["points"].to_pylist() for path in batches] == [
        [6, 5, 4],
        [None, 2, 1],
        [0],
    ]
    stored = parquet.read_table(folder / "out.parquet").to_pylist()
    (bad,) = (row["drop"] for row in stored if row["drop"] and row["drop"]["reason"] == "bad_record")
    assert "points must be of type int; got null" in bad["error"]
    counted = {row["window"]["start"]: row["value"]["points"] for row in stored if row["change"] == "value"}
    assert sum(counted.values()) == 0 + 1 + 2 + 4 + 5 + 6


def test_a_failed_query_is_described_by_its_bad_record(folder: Path, spark: SparkSession) -> None:
    """Spark's failure is one line, and its file is read again for the row, the column and the value."""
    (folder / "bad.csv").write_text(f"{HEADER}red,five,2015-01-01T12:00:30Z,\n")
    options = {"header": "true", "mode": "FAILFAST"}
    frame = spark.read.schema("team string, points long, at timestamp, seen string").options(**options)
    with pytest.raises(Exception, match="MALFORMED_RECORD") as failed:  # Py4JJavaError has no types
        frame.csv(str(folder / "bad.csv")).write.parquet(str(folder / "out.parquet"))
    described = describe_failure(failed.value)
    assert described is not None
    assert "Malformed records are detected in record parsing: [red,null," in described
    assert "\n" not in described
    with (
        pytest.raises(
            UnreadableFileError, match=r"^bad.csv: row 2: points must be of type int64; got 'five'$"
        ),
        locate_bad_records({games.SCORES: Path("bad.csv")}),
    ):
        raise failed.value


@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_batch_on_spark_writes_bad_records_next_to_the_output(suffix: str, folder: Path) -> None:
    """With ``--dead-letters`` a Spark batch writes them to a folder, texts that cannot be parsed included."""
    (folder / "in").mkdir()
    rows = [
        HEADER.rstrip().replace(",seen", "").replace(",2015-01-01T12:01:30Z", ""),
        *(line.rpartition(",")[0] for line in DIRTY_LINES),
    ]
    (folder / "in" / "scores.csv").write_text("\n".join(rows) + "\n")
    done = run_on_spark(folder, "batch", "--dead-letters", "--output", f"panes.{suffix}")
    assert (
        f"1 panes to the files of panes.{suffix}\n3 bad records to panes.dead-letters.{suffix}" in done.stdout
    )
    written = "".join(file.read_text() for file in (folder / f"panes.dead-letters.{suffix}").glob("part-*"))
    for part in ("Source('scores')", "five", "team must be of type str; got null", "9999-12-31T00:00:00"):
        assert part in written


@pytest.mark.spark
@pytest.mark.thorough
def test_a_bad_record_of_a_batch_on_spark_is_an_error_of_one_line(folder: Path) -> None:
    """The failed query is followed by reading the file, so the line has the row, the column and the value."""
    (folder / "bad.csv").write_text(f"{HEADER}red,five,2015-01-01T12:00:30Z,\n")
    command = [sys.executable, "-m", "flowalg_tools", "run", "games:STANDINGS", "--on", "batch"]
    finished = run_program(
        [*command, "--input", "scores=bad.csv", "--output", "out.parquet"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "docs" / "examples")},
    )
    assert finished.returncode == 2
    assert finished.stderr == "error: bad.csv: row 2: points must be of type int64; got 'five'\n"


@pytest.mark.parametrize(
    "command",
    [
        "explain",
        "why",
        "diff",
        "run",
        "draw",
        "what-if",
        "plan",
        "reshard",
    ],
)
def test_the_help_of_each_command_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` of every command shows an example that names the command."""
    assert f"Example: flowalg {command} " in output_of(capsys, command, "--help")


def test_a_plan_needs_a_checkpoint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``flowalg plan`` and ``flowalg reshard`` reject a folder without a checkpoint, and options of another engine."""
    no_checkpoint = "CHECKPOINT must be a folder with the checkpoint of"
    assert no_checkpoint in output_of(capsys, "plan", "games:STANDINGS", ".", code=2)
    assert no_checkpoint in output_of(capsys, "reshard", ".", "--shards", "2", code=2)
    (folder / "state" / "offsets").mkdir(parents=True)
    assert "--into must be the folder" in output_of(capsys, "reshard", "state", "--shards", "2", code=2)
    (folder / "state" / "manifest").touch()
    assert "--into must be omitted with a checkpoint of the local engine" in output_of(
        capsys, "reshard", "state", "--shards", "2", "--into", "wider", code=2
    )
    assert "a mapping of names to PCollections" in output_of(capsys, "plan", "games:MINUTE", ".", code=2)
