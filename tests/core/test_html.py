"""Notebook views: well-formed, escaped, and short enough to read."""

from __future__ import annotations

import pickle
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import ModuleType

import flowalg_reference as reference
import games
import pytest
from attrs import evolve, frozen
from flowalg_laws.strategies.computations import RUNNING_TOTAL
from flowalg_laws.strategies.triggers import triggers
from flowalg_reference import ReferenceRun
from flowalg_tools.html import to_html
from flowalg_tools.notebook import NoNotebookError, display_in_notebooks
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtPeriod,
    AtWatermark,
    FixedWindows,
    PCollection,
    PTransform,
    Run,
    Source,
    Sum,
    Timeline,
    Window,
    event_time,
    explain,
    hazards,
)
from flowalg.errors import ArgumentError
from flowalg.notebook.html import PaneTable, panes_html, pipeline_html, run_html, timeline_html
from flowalg.triggers import AtSignal, Trigger, describe
from flowalg.windows import GLOBAL_WINDOW
from tests.support.generated_runs import runs
from tests.support.programs import run_code
from tests.support.scores import POINTS, SCORES, Score, minute

TWO = timedelta(minutes=2)
BY_TEAM = PTransform.of(Score, lambda scores: scores.key_by(lambda s: s.team), name="by team")


def parse_fragment(html: str) -> ET.Element:
    """Returns the tree of a fragment, which must be well-formed, with inline styles and without scripts."""
    tree = ET.fromstring(html)
    for element in tree.iter():
        assert element.tag not in {"script", "style", "link"}
        assert not any(name.startswith("on") for name in element.attrib)
    return tree


def text_of(tree: ET.Element) -> str:
    """Returns all the text of a tree."""
    return "".join(tree.itertext())


def rows_of(tree: ET.Element) -> list[list[str]]:
    """Returns the cells of each row of a table."""
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def run_with_a_correction() -> ReferenceRun[object]:
    """Returns a run with an on-time pane, a late pane that retracts it, and a drop."""
    trigger = AtWatermark().with_late_firings(AtCount(1))
    pipeline = POINTS.window(
        FixedWindows(TWO), trigger=trigger, accumulation=Accumulation.RETRACTING, allowed_lateness=TWO
    ).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 5, minute(0.5)), watermark=minute(0))
        .at(minute(2), watermark=minute(2))
        .at(minute(3), Score("a", 3, minute(1)))
        .at(minute(4), watermark=minute(5))
        .at(minute(5), Score("a", 3, minute(1)))
    )
    return reference.run(pipeline, {SCORES: timeline})


@given(runs())
def test_the_views_of_any_run_are_well_formed(run: ReferenceRun[object]) -> None:
    """The views of any run are well-formed and complete."""
    text = " ".join(text_of(parse_fragment(pipeline_html(run.spec.pipeline))).split())
    for line in explain(run.spec.pipeline).split("\n"):
        assert " ".join(line.removeprefix("! ").split()) in text
    for timeline in run.spec.timelines.values():
        assert len(rows_of(parse_fragment(timeline_html(timeline)))) == min(len(timeline.instants), 41) + 1
    table = rows_of(parse_fragment(panes_html(run.panes)))
    assert len(table) == min(len(run.panes), 41) + 1
    parse_fragment(run_html(run))


def test_a_pane_table_has_all_properties_of_a_pane() -> None:
    """A pane table has key, value, window, timing, index, first and last, both clocks, and retractions."""
    table = rows_of(parse_fragment(PaneTable(run_with_a_correction().panes)._repr_html_()))
    assert table[0] == [
        "key",
        "value",
        "window",
        "timing",
        "index",
        "first",
        "last",
        "processing time",
        "watermark",
        "change",
    ]
    window = "[2024-01-01T12:00:00Z, 2024-01-01T12:02:00Z)"
    assert table[1] == [
        "'a'",
        "5",
        window,
        "on time",
        "0",
        "first",
        "",
        "2024-01-01T12:02:00Z",
        "2024-01-01T12:02:00Z",
        "value",
    ]
    assert [(row[1], row[3], row[-1]) for row in table[2:]] == [
        ("5", "late", "retraction"),
        ("8", "late", "value"),
    ]


def test_a_run_is_summarized_by_counts() -> None:
    """The view of a run has the numbers of panes by timing, of retractions, and of drops by reason."""
    text = text_of(parse_fragment(to_html(run_with_a_correction())))
    for part in ("0 early", "1 on time", "1 late", "1 retraction", "1 dropped, expired", "3 panes"):
        assert part in text


def test_the_view_of_a_run_has_its_plot_as_an_image() -> None:
    """The view of a run has its plot as an image, whose styles do not affect the page."""
    (image,) = parse_fragment(to_html(run_with_a_correction())).iter("img")
    assert image.attrib["src"].startswith("data:image/svg+xml;base64,")
    assert not list(parse_fragment(run_html(run_with_a_correction())).iter("img"))


@frozen
class Unescaped:
    """A value whose ``repr`` is arbitrary text."""

    text: str

    def __repr__(self) -> str:
        return self.text


MARKUP = "<script>alert('x')</script>&amp;\"><b onclick=x>"


@pytest.mark.parametrize("text", [MARKUP, "\x00\x0b\x1b", "\ud800", "]]>", "\ufffe", "a\u2028b"])
def test_values_and_names_of_users_are_escaped(text: str) -> None:
    """Keys, values, elements and names of sources are escaped."""
    run = run_with_a_correction()
    panes = tuple(evolve(pane, element=KV(Unescaped(text), Unescaped(text))) for pane in run.panes)
    timeline = Timeline[object]().at(minute(0), Unescaped(text))
    for html in (panes_html(panes), timeline_html(timeline), run_html(evolve(run, panes=panes))):
        tree = parse_fragment(html)
        assert "<script" not in html
        if text == MARKUP:
            assert text in text_of(tree)
        html.encode()
    if text == MARKUP:
        pipeline = Source(text, Score, event_time=lambda s: s.at)
        assert text in text_of(parse_fragment(pipeline_html(pipeline)))


@given(st.text(max_size=40))
def test_any_text_in_an_element_gives_a_well_formed_view(text: str) -> None:
    """An element with any characters gives a well-formed view."""
    parse_fragment(timeline_html(Timeline[object]().at(minute(0), Unescaped(text), Unescaped(text * 99))))


def test_a_long_timeline_is_shortened() -> None:
    """A long timeline shows its first and last rows, the number between, and the first of many elements."""
    timeline = Timeline(
        tuple(
            instant
            for n in range(500)
            for instant in Timeline[int]().at(minute(n), *range(10), watermark=minute(n))
        )
    )
    table = rows_of(parse_fragment(timeline_html(timeline)))
    assert table[31] == ["… 460 more …"]
    assert table[1][0] == "2024-01-01T12:00:00Z"
    assert table[-1][0] == "2024-01-01T20:19:00Z"
    assert table[1][1] == "0\n1\n2\n3\n… 6 more"
    assert "500 instants, 5,000 elements" in text_of(parse_fragment(timeline_html(timeline)))


def list_items(tree: ET.Element, at: int = 0) -> Iterator[tuple[int, str]]:
    """Yields the items of nested lists, with their depths."""
    for child in tree:
        if child.tag == "li":
            yield at, (child.text or "").strip()
        yield from list_items(child, at + (child.tag == "ul"))


def test_a_pipeline_is_shown_as_a_tree() -> None:
    """The view of a pipeline has the parts of a window below it, and marks hazards."""
    tree = parse_fragment(pipeline_html(games.STANDINGS))
    depths = {line: depth for depth, line in list_items(tree)}
    window = next(line for line in depths if line.startswith("> window("))
    assert depths[window] == 2
    assert depths["accepts late elements for 5 minutes of event time"] == 3
    assert "hazard standings/combine_per_key(Sum, Count): elements can be dropped" in text_of(tree)


def test_a_pane_is_shown_as_a_table_of_one_row() -> None:
    """The view of a pane is the table of that pane."""
    first, *_ = run_with_a_correction().panes
    assert first._repr_html_() == panes_html((first,))
    assert "1 pane" in text_of(parse_fragment(first._repr_html_()))


@pytest.mark.parametrize(
    ("window", "cells"),
    [
        (Window(event_time(minute(0)), event_time(minute(90))), ["1:30:00"]),
        (GLOBAL_WINDOW, [""]),
    ],
)
def test_a_window_is_shown_with_its_bounds_and_its_length(window: Window, cells: list[str]) -> None:
    """The view of a window has its start, its end and its length; the global window has no length."""
    head, row = rows_of(parse_fragment(window._repr_html_()))
    assert head == ["start", "end (exclusive)", "length"]
    assert row == [str(window.start), str(window.end), *cells]


def test_a_trigger_is_shown_in_words_and_as_a_tree() -> None:
    """The view of a trigger begins with its description, and has its parts as a tree."""
    trigger = AtPeriod(TWO).repeat().until(AtWatermark()) >> (AtCount(5) & AtSignal("flush")).repeat()
    tree = parse_fragment(trigger._repr_html_())
    assert text_of(tree).startswith(f"fires {describe(trigger)}")
    assert [(depth - 1, line) for depth, line in list_items(tree)] == [
        (0, "SequenceOf"),
        (1, "OrFinally"),
        (2, "Repeat"),
        (3, repr(AtPeriod(TWO))),
        (2, repr(AtWatermark())),
        (1, "Repeat"),
        (2, "And"),
        (3, repr(AtCount(5))),
        (3, repr(AtSignal("flush"))),
    ]


@given(triggers())
def test_the_view_of_any_trigger_is_well_formed(trigger: Trigger) -> None:
    """The view of any trigger is well-formed."""
    parse_fragment(trigger._repr_html_())


@pytest.mark.parametrize("pipeline", [games.STANDINGS, BY_TEAM], ids=["pipeline", "transform"])
def test_an_explanation_is_text_and_is_shown_as_the_pipeline(
    pipeline: PCollection[object] | PTransform[PCollection[Score], PCollection[object]],
) -> None:
    """``explain`` returns a str, also after pickling, which a notebook shows as it shows the pipeline."""
    text = explain(pipeline)
    for copy in (text, pickle.loads(pickle.dumps(text))):
        assert copy == str(copy) == "\n".join(text.splitlines())
        assert to_html(copy) == pipeline._repr_html_()


def test_answers_of_the_debugger_are_shown_as_their_text() -> None:
    """The views of why a pane fired and why a window has not fired, and of a hazard, are their texts."""
    run = run_with_a_correction()
    pane = run.panes[0]
    started = Timeline[Score]().at(minute(1), Score("a", 1, minute(1)))
    computed = reference.run(POINTS.process(RUNNING_TOTAL), {SCORES: started})
    answers = (
        reference.explain_when(run, pane),
        reference.why_not(run, "a", pane.window),
        reference.explain_when(computed, computed.elements[0]),
        reference.why_not(computed, "a"),
        *hazards(games.STANDINGS),
    )
    for answer in answers:
        assert text_of(parse_fragment(answer._repr_html_())) == str(answer)


def test_a_value_without_a_view_is_an_error() -> None:
    """``html`` raises an error for a value without a view, with the types that have one."""
    for bad in (7, "panes", [1, 2], object()):
        with pytest.raises(
            ArgumentError,
            match="value must be an object with a notebook view, such as a Run, or a sequence of panes; got",
        ):
            to_html(bad)
    with pytest.raises(
        ArgumentError, match="PaneTable.panes must be a tuple of panes, such as run.panes; got .*"
    ):
        PaneTable([1])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    run = run_with_a_correction()
    assert to_html(run.panes) == to_html(list(run.panes)) == to_html(PaneTable(run.panes))


def test_without_matplotlib_a_run_has_only_its_tables() -> None:
    """Without matplotlib the view of a run has its tables and no plot."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from flowalg_tools.html import to_html\n"
        "from flowalg import Run\n"
        "print(to_html(Run((), ())))"
    )
    printed = run_code(code)
    assert "0 panes" in printed
    assert "<img" not in printed


def test_a_notebook_gets_a_formatter_for_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook gets a formatter for runs by type; outside a notebook that is an error."""
    html_formatters: dict[type, Callable[[object], str]] = {}

    class Shell:
        """The parts of a notebook's shell that the test needs."""

        formatters: dict[str, Shell]

        def for_type(self, typ: type, func: Callable[[object], str]) -> None:
            """Stores the formatter of a type."""
            html_formatters[typ] = func

        @property
        def display_formatter(self) -> Shell:
            """Returns itself."""
            return self

    shell = Shell()
    shell.formatters = {"text/html": shell}
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with pytest.raises(NoNotebookError, match="call display_in_notebooks"):
        display_in_notebooks()
    notebook = ModuleType("IPython")
    notebook.get_ipython = lambda: shell  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    notebook.version_info = (9, 0, 0, "")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    display_in_notebooks()
    assert "<img" in html_formatters[Run](run_with_a_correction())
