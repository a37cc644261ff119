"""The command line says what the library says, and what cannot be done it says in one line, with exit code 2."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import games
import pyarrow as pa
import pytest
from flowalg_reference import explain_when, run, run_batch, why_not
from flowalg_spark import pane_table
from flowalg_tools.cli import main
from flowalg_tools.cli.expressions import duration_of, policy_of, trigger_of
from flowalg_tools.what_if import Records, what_if
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from flowalg import (
    AfterDelay,
    And,
    ArgumentError,
    AtCount,
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    FixedWindows,
    Repeat,
    Timeline,
    Timeout,
    Trigger,
    Window,
    event_time,
    explain,
)

ROOT = Path(__file__).parents[2]
MINUTE = timedelta(minutes=1)


def noon(minute: float) -> datetime:
    """So many minutes after it."""
    return datetime(2015, 1, 1, 12, tzinfo=UTC) + minute * MINUTE


SEEN = [
    (games.Score("red", 5, noon(0.5)), noon(1.5)),
    (games.Score("blue", 7, noon(1)), noon(2.5)),
    (games.Score("red", 3, noon(3)), noon(3.5)),
    (games.Score("red", 9, noon(1.5)), noon(5.5)),
    (games.Score("blue", 2, noon(8.5)), noon(9.5)),
]
TIMES = dict(SEEN)
TIMELINE = Timeline.from_records(
    games.SCORES, TIMES, processing_time=TIMES.__getitem__, watermark=BoundedOutOfOrderness(MINUTE)
)
RECORDED = ["--seen", "seen", "--watermark", "BoundedOutOfOrderness(minute)"]
FIRST = "2015-01-01T12:00/2015-01-01T12:02"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the scores in each format."""
    rows = [{"team": one.team, "points": one.points, "at": one.at, "seen": seen} for one, seen in SEEN]
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


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command prints where it belongs: results to the standard output, errors to the other."""
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert (printed.err if code != 2 else printed.out) == ""
    return printed.err if code == 2 else printed.out


def test_explain_prints_what_explain_gives(capsys: pytest.CaptureFixture[str]) -> None:
    """And how many functions run inside Spark."""
    found = said(capsys, "explain", "games:STANDINGS")
    assert found.startswith(explain(games.STANDINGS))
    assert found.endswith("Functions of steps: all 2 run inside Spark, as columns.\n")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_when_gives_the_explanations_of_a_key(
    suffix: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of all panes of the window, from records in a file of any format."""
    found = said(
        capsys,
        *("when", "games:STANDINGS", f"scores=scores.{suffix}", *RECORDED),
        *("--window", FIRST, "--key", "red"),
    )
    whole = run(games.STANDINGS, {games.SCORES: TIMELINE})
    panes = [one for one in whole.panes if one.key == "red" and one.window == window(0, 2)]
    assert len(panes) == 2
    assert found == "\n\n".join(str(explain_when(whole, one)) for one in panes) + "\n"


def test_when_says_why_there_is_no_pane(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At a moment, of a key that has none yet."""
    given = ["--window", FIRST, "--key", "blue", "--at", "2015-01-01T12:02:45"]
    found = said(capsys, "when", "games:STANDINGS", "scores.csv", *RECORDED, *given)
    whole = run(games.STANDINGS, {games.SCORES: TIMELINE})
    assert found == f"{why_not(whole, 'blue', window(0, 2), at=noon(2.75))}\n"


def window(start: float, end: float) -> Window:
    """A window of minutes."""
    return Window.of(event_time(noon(start)), event_time(noon(end)))


def test_when_reads_a_timeline_of_a_module(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A timeline, or a function that makes one; the module lies in the working directory."""
    (folder / "recorded_scores.py").write_text(
        "from games import SCORES, Score, when\n"
        "from datetime import UTC, datetime, timedelta\n"
        "from flowalg import Timeline, MonotonicTimestamps\n"
        "def made():\n"
        "    scores = [Score('red', 1, datetime(2015, 1, 1, 12, tzinfo=UTC))]\n"
        "    return Timeline.from_records(SCORES, scores, processing_time=when,\n"
        "        watermark=MonotonicTimestamps())\n"
        "MADE = made()\n"
        "BY_SOURCE = {SCORES: MADE}\n"
    )
    answers = {
        said(capsys, "when", "games:STANDINGS", f"recorded_scores:{name}", "--window", FIRST)
        for name in ("made", "MADE", "BY_SOURCE")
    }
    (answer,) = answers
    assert "because its window ended" in answer or "came at" in answer


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_run_writes_the_panes_of_a_timeline(
    suffix: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the columns that Spark gives them; CSV has the parts of a struct apart."""
    told = said(
        capsys,
        *("run", "games:STANDINGS", "--input", f"scores.{suffix}", *RECORDED, "--output", f"panes.{suffix}"),
    )
    assert told == f"5 panes (3 early, 1 on time, 1 late) to panes.{suffix}\n"
    panes = run(games.STANDINGS, {games.SCORES: TIMELINE}).panes
    wanted = pane_table(games.STANDINGS, panes)
    path = folder / f"panes.{suffix}"
    match suffix:
        case "parquet":
            assert parquet.read_table(path).equals(wanted)
        case "csv":
            assert arrow_csv.read_csv(path)["value.points"].to_pylist() == [one.value.points for one in panes]
        case _:
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            assert [row["value"]["points"] for row in rows] == [one.value.points for one in panes]
            assert rows[0]["event_time"] == "2015-01-01T12:01:59.999999+00:00"


def test_run_without_times_is_a_batch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every window has one pane."""
    told = said(capsys, "run", "games:STANDINGS", "--input", "scores=scores.csv", "--output", "panes.parquet")
    assert told == "4 panes (4 on time) to panes.parquet\n"
    stored = parquet.read_table(folder / "panes.parquet").to_pylist()
    assert [(one["key"], one["value"]) for one in stored] == [
        (one.key, {"points": one.value.points, "scores": one.value.scores})
        for one in run_batch(games.STANDINGS, {games.SCORES: TIMES}).panes
    ]


@pytest.mark.parametrize("more", [[], ["--progress"], ["--key", "red", "--title", "Red"]])
def test_draw_writes_a_picture(more: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the run that ``run`` would give."""
    told = said(capsys, "draw", "games:STANDINGS", "scores.csv", *RECORDED, "--output", "new/run.svg", *more)
    assert told == "5 panes, drawn in new/run.svg\n"
    assert "</svg>" in (folder / "new" / "run.svg").read_text()


def test_what_if_prints_the_table_and_the_recommendation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the keys and windows of the first grouping."""
    grid = [
        "--policy",
        "BoundedOutOfOrderness(minute)",
        "--policy",
        "Timeout(5 * minute)",
        "--lateness",
        "0 * minute",
    ]
    told = said(
        capsys,
        *("what-if", "games:STANDINGS", "scores.parquet", "--seen", "seen", *grid, "--output", "grid.svg"),
    )
    records = Records.of(
        [one.at for one, _ in SEEN], [seen for _, seen in SEEN], keys=[one.team for one, _ in SEEN]
    )
    found = what_if(
        records,
        FixedWindows(2 * MINUTE),
        policies=[BoundedOutOfOrderness(MINUTE), Timeout(5 * MINUTE)],
        lateness=[timedelta(0)],
    )
    assert found.table() in told
    assert str(found.recommendation()) in told
    assert (folder / "grid.svg").exists()


def ran_on_spark(folder: Path, on: str, *more: str) -> subprocess.CompletedProcess[str]:
    """A run over the scores in a process of its own, as a user runs it; quiet, since the output is no terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "flowalg_tools", "run", "games:STANDINGS", "--on", on, "--input", "in", *more],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "docs" / "examples")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done


@pytest.mark.spark
@pytest.mark.parametrize("on", ["batch", "streaming"])
def test_run_on_spark_gives_the_final_values(on: str, folder: Path) -> None:
    """Whoever runs it."""
    (folder / "in").mkdir()
    (folder / "scores.csv").rename(folder / "in" / "scores.csv")
    more = RECORDED if on == "streaming" else []
    ran_on_spark(folder, on, "--output", "panes.jsonl", *more)
    rows = [
        json.loads(line) for one in folder.glob("panes.jsonl/*.json") for line in one.open(encoding="utf-8")
    ]
    found = {(row["key"], row["window"]["start"]): row["value"]["points"] for row in rows}
    assert found == {
        ("red", "2015-01-01T12:00:00.000000Z"): 14,
        ("blue", "2015-01-01T12:00:00.000000Z"): 7,
        ("red", "2015-01-01T12:02:00.000000Z"): 3,
        ("blue", "2015-01-01T12:08:00.000000Z"): 2,
    }


@pytest.mark.spark
def test_a_streaming_run_is_asked_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it wrote of itself, and its input, are enough: one file was one micro-batch, after which its input ended."""
    (folder / "in").mkdir()
    (folder / "scores.csv").rename(folder / "in" / "scores.csv")
    more = ["--output", "panes.parquet", "--metrics", *RECORDED]
    done = ran_on_spark(folder, "streaming", *more)
    assert done.stdout == "4 panes and drops are in the files of panes.parquet\n"
    told = said(capsys, *("when", "games:STANDINGS", "in", "--recorded", "panes.parquet", "--window", FIRST))
    batch = Timeline.micro_batches(
        games.SCORES,
        [list(TIMES)],
        processing_time=TIMES.__getitem__,
        watermark=BoundedOutOfOrderness(MINUTE),
    )
    again = run(games.STANDINGS, {games.SCORES: batch})
    first = Window.of(event_time(noon(0)), event_time(noon(2)))
    panes = [pane for pane in again.panes if pane.window == first]
    assert len(panes) == 2
    assert told == "\n\n".join(str(explain_when(again, pane)) for pane in panes) + "\n"
    said(capsys, *("draw", "games:STANDINGS", "in", "--recorded", "panes.parquet", "--output", "run.svg"))
    assert (folder / "run.svg").exists()
    refused = said(capsys, "when", "games:STANDINGS", "in", "--recorded", "in", "--window", FIRST, code=2)
    assert "the Parquet files of a run with --metrics" in refused


@pytest.mark.spark
def test_the_demo_finds_that_all_interpreters_agree(tmp_path: Path) -> None:
    """In a process of its own, in an empty folder, as a user runs it; it leaves panes and pictures."""
    done = subprocess.run(
        [sys.executable, "-m", "flowalg_tools", "demo", "--output", "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(
        "demo: all interpreters agree (streaming and batch on 19,4"
    )
    assert {"reference.parquet", "storm.svg"} <= {one.name for one in tmp_path.glob("demo/*")}


def test_diff_shows_what_tells_triggers_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """And its exit code says whether anything does, as ``diff`` does."""
    apart = said(capsys, "diff", "AtCount(2).repeat()", "AtCount(2)", "--timelines", "200", code=1)
    assert "left:  at every 2 elements" in apart
    same = said(capsys, "diff", "AtCount(2)", "AtCount(2) & AtCount(1)", "--timelines", "20")
    assert "none found in 20 timelines" in same


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
def test_a_trigger_is_what_python_would_make_of_it(text: str, trigger: Trigger) -> None:
    """In flowalg's names."""
    assert trigger_of(text, "TRIGGER") == trigger


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
def test_an_expression_that_is_none_of_these_is_refused(text: str) -> None:
    """Nothing but flowalg's own values is evaluated."""
    with pytest.raises(ArgumentError):
        trigger_of(text, "TRIGGER")


def test_policies_and_durations_are_expressions_too() -> None:
    """The same names."""
    assert policy_of("BoundedOutOfOrderness(minute + 30 * second)", "POLICY") == BoundedOutOfOrderness(
        1.5 * MINUTE
    )
    assert duration_of("2 * hour - minute", "DURATION") == 119 * MINUTE


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["explain", "games"], "a module and an attribute"),
        (["explain", "games:NOTHING"], "its pipelines are SCORES, STANDINGS"),
        (["explain", "no_such_module:X"], "there is no module no_such_module"),
        (["explain", "games:MINUTE"], "a PCollection"),
        (["run", "games:STANDINGS", "--input", "games=scores.csv", "--output", "x.csv"], "scores=PATH"),
        (["run", "games:STANDINGS", "--input", "scores=none.csv", "--output", "x.csv"], "that exists"),
        (["run", "games:STANDINGS", "--input", "scores.csv", "--output", "x.txt"], ".jsonl"),
        (["run", "games:STANDINGS", "--input", "scores.csv", "--output", "x.csv", "--seen", "of"], "of"),
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
                "--seen",
                "at",
            ],
            "--on batch",
        ),
        (["when", "games:STANDINGS", "scores.csv", "--window", FIRST], "--seen"),
        (["when", "games:STANDINGS", "scores.csv", "--seen", "seen", "--window", "noon/one"], "ISO 8601"),
        (
            ["when", "games:STANDINGS", "scores.csv", "--seen", "seen", "--window", "2015-01-02/2015-01-03"],
            "say --key",
        ),
        (["diff", "AtCount(2)", "AtCount(-2)"], "positive"),
        (["draw", "games:STANDINGS", "scores.csv", "--seen", "seen", "--output", "run.pdf"], ".svg"),
        (
            [
                "draw",
                "games:STANDINGS",
                "scores.csv",
                *RECORDED,
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
def test_what_cannot_be_done_is_said_in_one_line(
    arguments: list[str], word: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what would be valid, and no traceback."""
    found = said(capsys, *arguments, code=2)
    assert found.startswith("error: ")
    assert word in found


@pytest.mark.parametrize("command", ["explain", "when", "diff", "run", "draw", "what-if", "demo", "figures"])
def test_the_help_of_each_command_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Which names the command."""
    assert f"Example: flowalg {command} " in said(capsys, command, "--help")


def test_the_demo_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it begins: Java, or a folder that it may write to."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "thesis.tex").touch()
    assert "it holds thesis.tex" in said(capsys, "demo", "--output", str(tmp_path), code=2)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "")
    assert "needs Java" in said(capsys, "demo", "--output", str(tmp_path / "demo"), code=2)


def test_the_page_shows_what_the_commands_print(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line that begins with a prompt is run, and what follows is what it prints."""
    page = (ROOT / "docs" / "command-line.md").read_text()
    blocks = re.findall(r"```(csv|console)\n(.*?)```", page, flags=re.DOTALL)
    assert {language for language, _ in blocks} == {"csv", "console"}
    for language, block in blocks:
        if language == "csv":
            (folder / "scores.csv").write_text(block)
            continue
        for command, printed in re.findall(
            r"^\$ flowalg (.*?)\n(.*?)(?=^\$|\Z)", block, flags=re.DOTALL | re.M
        ):
            assert main(shlex.split(command)) in (0, 1)
            assert re.sub(r"at \S*games\.py", "at games.py", capsys.readouterr().out) == printed
    figures = folder / "figures"
    assert len(list(figures.glob("*.svg"))) == 20
    gallery = ROOT / "docs" / "gallery" / "index.md"
    assert (figures / "index.md").read_text(encoding="utf-8") == gallery.read_text(encoding="utf-8")
