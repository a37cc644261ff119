"""The claims of the page on security that can be tested: what is executed, unpickled, quoted and escaped.

These tests catch a new place that unpickles or evaluates, text of data in a statement or in HTML, and a constructor or
a function that reading a document calls.
"""

from __future__ import annotations

import ast
import builtins
import json
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import flowalg_reference as reference
import flowalg_sinks
import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import batch, streaming
from flowalg_polars.frames.pane_frame import collect
from flowalg_sinks import PostgreSQL, SQLite
from flowalg_sinks.databases.statements import quote
from flowalg_tools.cli.expressions import (
    evaluate,
    parse_duration,
    parse_lateness,
    parse_policy,
    parse_trigger,
)
from flowalg_tools.cli.files import write_output
from flowalg_tools.cli.literals import parse_key
from flowalg_tools.cli.terminal import print_error, show
from hypothesis import given
from hypothesis import strategies as st

import flowalg
from flowalg import (
    FOREVER,
    KV,
    BoundedOutOfOrderness,
    FixedWindows,
    PCollection,
    Source,
    Timeline,
    ToList,
    from_json,
    to_json,
)
from flowalg.data.views import html_view
from flowalg.errors import ArgumentError, DocumentError
from flowalg.runs import Output
from flowalg.triggers import Trigger
from flowalg.watermarks import LagDistribution, WatermarkPolicy
from tests.support.public import PUBLIC

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = (
    ROOT / "flowalg",
    ROOT / "laws" / "flowalg_laws",
    *(path for path in sorted((ROOT / "interpreters").iterdir()) if path.is_dir()),
)
UNPICKLING: Final = frozenset(
    {
        "flowalg_shard/computations/kept_keys.py",
        "flowalg_columns/python/groups.py",
        "flowalg_laws/laws/serialization.py",
        "flowalg_shard/clocks/reports.py",
        "flowalg_spark/changes/state_writing.py",
        "flowalg_spark/state/variables.py",
        "flowalg_spark/streaming/processor.py",
    }
)
"""The modules that unpickle. Before one is added, docs/security.md must say whose bytes they are."""
NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
MINUTE: Final = timedelta(minutes=1)
SCRIPT: Final = "<script>alert(1)</script><b onclick='x'>&\"'"


@frozen
class Note:
    """A record whose fields anybody may have written."""

    author: str
    payload: bytes
    at: datetime


def time_of(note: Note) -> datetime:
    """Returns the event time of a note."""
    return note.at


def author_of(note: Note) -> str:
    """Returns the author of a note."""
    return note.author


def payload_of(note: Note) -> bytes:
    """Returns the payload of a note."""
    return note.payload


NOTES: Final = Source("notes", Note, event_time=time_of)
PAYLOADS: Final = (
    NOTES.key_by(author_of)
    .map_values(payload_of)
    .window(FixedWindows(MINUTE), allowed_lateness=FOREVER)
    .combine_per_key(ToList())
)


def timeline_of(*notes: Note) -> Timeline[Note]:
    """Returns notes as a timeline that ends."""
    return Timeline[Note]().at(NOON, *notes, watermark=NOON).end(NOON + MINUTE)


def frame_of(*notes: Note) -> pl.DataFrame:
    """Returns notes as a frame."""
    schema = {"author": pl.String(), "payload": pl.Binary(), "at": pl.Datetime("us", "UTC")}
    return pl.DataFrame(
        [{"author": n.author, "payload": n.payload, "at": n.at} for n in notes], schema=schema
    )


def calls() -> Iterator[tuple[str, str]]:
    """Returns the file of each call in the packages, from its package on, and the name of what is called."""
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield path.relative_to(package.parent).as_posix(), ast.unparse(node.func)


def test_nothing_evaluates_text() -> None:
    """No package calls ``eval`` or ``exec``."""
    assert [call for call in calls() if call[1] in ("eval", "exec", "builtins.eval", "builtins.exec")] == []


def test_pickles_are_read_in_known_places() -> None:
    """Only the modules that the page counts unpickle, and they use ``pickle.loads``."""
    names = ("load", "loads", "Unpickler")
    places = {
        (file, name)
        for file, name in calls()
        if name.rpartition(".")[2] in names
        and name.partition(".")[0] in ("pickle", "cloudpickle", "dill", "marshal")
    }
    assert {name for _, name in places} == {"pickle.loads"}
    assert {file for file, _ in places} == UNPICKLING


class Trap:
    """A value whose pickle creates a file where it is read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.file,)


def test_bytes_of_records_are_not_unpickled(tmp_path: Path) -> None:
    """A record with a pickle in its bytes is data, on the reference and on the local engine, in batches and streams."""
    trap = pickle.dumps(Trap(tmp_path / "sprung"))
    note = Note("a", trap, NOON)
    values = [pane.value for pane in reference.run(PAYLOADS, {NOTES: timeline_of(note)}).panes]
    values += [pane.value for pane in collect(PAYLOADS, batch.compile(PAYLOADS, {NOTES: frame_of(note)}))]
    stream = streaming.StreamInput(streaming.Frames([frame_of(note)]), BoundedOutOfOrderness(MINUTE))
    for stop in (1, None):
        running = streaming.batches(PAYLOADS, {NOTES: stream}, checkpoint=tmp_path / "checkpoint", drain=True)
        for number, micro_batch in enumerate(running):
            values += [pane.value for pane in micro_batch.panes]
            if number == stop:
                running.close()
    assert values == [[trap]] * len(values)
    assert len(values) >= 3
    assert not (tmp_path / "sprung").exists()
    pickle.loads(trap)
    assert (tmp_path / "sprung").exists()


def test_reading_a_document_imports_modules_and_calls_no_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading imports a module that the text names, and calls no function; other classes are not constructed."""
    (tmp_path / "named_module.py").write_text(
        "calls = []\n"
        "def of(note):\n"
        "    calls.append(note)\n"
        "class Plain:\n"
        "    def __init__(self, **values):\n"
        "        calls.append(values)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    keyed = to_json(NOTES.key_by(author_of)).replace(f"{author_of.__module__}:author_of", "named_module:of")
    assert "named_module" not in sys.modules
    from_json(keyed, PCollection[object])
    assert sys.modules["named_module"].calls == []
    document = {"format": "flowalg", "version": 1, "value": {"named_module:Plain": {"x": 1}}}
    with pytest.raises(DocumentError, match="not a record class, an enum or a named tuple"):
        from_json(json.dumps(document), PCollection[object])
    assert sys.modules["named_module"].calls == []


ESCAPES: Final = (
    "AtCount.__init__.__globals__",
    "AtCount(1).__init__.__globals__",
    "__import__('os').system('true')",
    "[x for x in (1, 2)]",
    "(lambda: AtCount(1))()",
    "open('file')",
    "AtCount(1).describe.__func__",
    "'{0.__init__.__globals__}'.format(AtCount(1))",
    "'{0.__init__.__globals__}'.format_map({})",
    "'%s' % AtCount",
    "f'{AtCount.__init__}'",
    "str.format('{0}', AtCount)",
    "AtCount.mro()",
    "AtCount(1).repeat.__self__",
    "AtCount(1).repeat",
    "AtCount",
    "(AtCount)(1)(2)",
    "[AtCount][0](1)",
    "(AtCount if 1 else AtCount)(1)",
    "minute.total_seconds()",
    "timedelta.max",
    "LagDistribution.GAMMA.__class__",
    "LagDistribution.GAMMA.value",
    "LagDistribution('gamma')",
    "Source('x', AtCount, event_time=AtCount)",
    "from_json('{}', AtCount)",
    "CustomPolicy('p', AtCount)",
    "AtElement(AtCount)",
    "AtSignal('x').name",
    "AtSignal(('x').join)",
    "AtSignal(name=(x := 'x'))",
    "AtSignal(**{'name': 'x'})",
    "AtCount(*[1])",
    "AtCount(1).until",
    "AtWatermark().with_early_firings.__globals__",
    "And(*(AtCount(1),))",
    "AtCount(1)\nimport os",
    "AtCount(1); AtCount(2)",
    "await AtCount(1)",
    "os:system('true')",
)
"""Expressions that reach for something outside of the language."""
BOMBS: Final = (
    "minute * 1e300",
    "minute * 1e999",
    "minute / 0",
    "minute * (1e999 - 1e999)",
    "timedelta(minutes=1e300)",
    "timedelta(days=9) * 9 ** 9 ** 9",
    "'x' * 999999999999",
    "(1,) * 999999999999",
    "AtCount(1 << 999999999999)",
    "AtCount(" + "9" * 5000 + ")",
    "(" * 5000 + "minute" + ")" * 5000,
    "-" * 999 + "minute",
    "~" * 999 + "1",
    "(" * 150 + "minute" + ")" * 150 + "()" * 150,
    "AtCount(1)" + ".repeat()" * 5000,
    " & ".join(["AtCount(1)"] * 5000),
    "minute\0",
    "minute\ud800",
    "{[1]}",
    "AtCount('\\N{')",
    "",
)
"""Expressions that overflow, nest deeply or are no syntax."""


@pytest.mark.parametrize("text", [*ESCAPES, *BOMBS])
def test_expressions_have_no_other_names(text: str) -> None:
    """An expression of the command line cannot reach attributes, functions or code, and fails with one line."""
    for parse in (parse_trigger, parse_policy, parse_duration, parse_lateness):
        with pytest.raises(ArgumentError) as failed:
            parse(text, "TRIGGER")
        assert len(str(failed.value)) < 2000


@pytest.mark.parametrize(
    "text", ["-" * 5000 + "1", "{[1]}", "(" * 5000, "1" * 5000, "'\\N{'", "f'{1}'", "x.y", "print()"]
)
def test_keys_are_literals_or_text(text: str) -> None:
    """A key of the command line is a literal of Python; what is none is the text."""
    assert parse_key(text, None, "--key") == text


OPERATORS: Final = (
    " & ",
    " | ",
    " >> ",
    " * ",
    " + ",
    " - ",
    " / ",
    " % ",
    " ** ",
    " @ ",
    " < ",
    " and ",
    ".",
    ", ",
)
ATTRIBUTES: Final = (
    "repeat",
    "until",
    "format",
    "__class__",
    "__init__",
    "mro",
    "name",
    "describe",
    "triggers",
)
WORDS: Final = st.one_of(
    st.sampled_from(sorted({*dir(flowalg), *PUBLIC})),
    st.sampled_from(sorted(dir(builtins))),
    st.sampled_from(
        ["minute", "timedelta", "LagDistribution.GAMMA", "1", "0.5", "'x'", "'{0.__init__}'", "None"]
    ),
)
EXPRESSIONS: Final = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(inner, st.lists(inner, max_size=2).map(", ".join)).map(
            lambda pair: f"{pair[0]}({pair[1]})"
        ),
        st.tuples(inner, st.sampled_from(ATTRIBUTES)).map(".".join),
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"[{text}]"),
    ),
    max_leaves=8,
)
VALUES: Final = (Trigger, WatermarkPolicy, timedelta, bool, int, float, str, type(None), tuple, frozenset)


@given(EXPRESSIONS)
def test_expressions_have_values_of_the_language_only(text: str) -> None:
    """An expression is a value of the language, which is never a function, a class or a module, or an error."""
    try:
        value = evaluate(text, "TRIGGER")
    except ArgumentError:
        return
    assert isinstance(value, VALUES) or value is FOREVER or isinstance(value, LagDistribution)
    assert not callable(value)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30))
def test_names_are_quoted_as_identifiers(name: str) -> None:
    """SQLite reads a quoted name as the name, whatever it contains."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE {quote(name)} (x INTEGER)")
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [(name,)]


def test_values_are_never_part_of_a_statement(tmp_path: Path) -> None:
    """Keys and values with SQL in them are stored as they are, in tables whose names have quotes."""
    evil = '\'); DROP TABLE "a""b"; --'
    target = SQLite(tmp_path / "panes.db")
    table = flowalg_sinks.upsert(PAYLOADS, target, table='a"b')
    stream = streaming.StreamInput(
        streaming.Frames([frame_of(Note(evil, b"'", NOON))]), BoundedOutOfOrderness(MINUTE)
    )
    streaming.run(PAYLOADS, {NOTES: stream}, sink=table, drain=True)
    with sqlite3.connect(tmp_path / "panes.db") as connection:
        assert connection.execute('SELECT key FROM "a""b"').fetchall() == [(evil,)]


def test_a_connection_string_is_not_shown() -> None:
    """The text of a PostgreSQL target does not have its connection string, which may contain a password."""
    assert "secret" not in repr(PostgreSQL("host=example password=secret"))


class Tags(HTMLParser):
    """Collects the elements and attributes of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects an element and the names of its attributes."""
        self.names |= {tag, *(name for name, _ in attrs)}


def test_html_escapes_text_of_data() -> None:
    """Views of runs, panes, timelines and pipelines have no element or attribute that text of data contains."""
    timeline = timeline_of(Note(SCRIPT, SCRIPT.encode(), NOON))
    run = reference.run(PAYLOADS, {NOTES: timeline})
    named = Source(SCRIPT, Note, event_time=time_of)
    for value in (run, run.panes[0], timeline, named.key_by(author_of)):
        text = html_view(value)
        assert "alert(1)" in text
        assert not Tags(text).names & {"script", "b onclick", "onclick"}


def test_csv_has_values_as_they_are(tmp_path: Path) -> None:
    """A text that a spreadsheet takes for a formula is written as it is, quoted as text of CSV."""
    key = '=HYPERLINK("x","y")'
    counted: PCollection[KV[str, int]] = (
        NOTES.key_by(author_of)
        .map_values(lambda note: 1)
        .window(FixedWindows(MINUTE))
        .combine_per_key(ToList())
        .map(lambda pair: KV(pair.key, len(pair.value)))
    )
    run = reference.run(counted, {NOTES: timeline_of(Note(key, b"", NOON))})
    write_output(counted, Output(run.panes), tmp_path / "panes.csv")
    assert pl.read_csv(tmp_path / "panes.csv")["key"].to_list() == [key]


def test_a_terminal_receives_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """Text of data cannot change the title of the terminal, move its cursor or delete what is there."""
    text = "".join(map(chr, range(256)))
    show(text)
    print_error(text)
    printed = "".join(capsys.readouterr())
    assert all(char.isprintable() or char in "\t\n\xa0\xad" for char in printed)
    assert "ABC" in printed
