"""HTML for notebooks: pipelines, triggers, timelines, windows and panes as trees and tables, without dependencies.

Text of users is escaped. Styles are inline and inherit colours, so they suit light and dark notebooks. Long tables show
the number of rows that they leave out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import chain
from typing import Final, Generic, Never, TypeVar

from attrs import frozen

from flowalg.analysis.explain import Line, PipelineText, explanation, hazards_of
from flowalg.data.errors import ArgumentError
from flowalg.data.kv import KV
from flowalg.data.metadata import Timing
from flowalg.data.views import HasView, escape_text, html_view
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import Bundle, PTransform
from flowalg.runs.output import Output, OutputElement
from flowalg.runs.panes import Change, DropReason, Pane
from flowalg.runs.run import Outputs, Run
from flowalg.runs.timeline import Instant, Timeline
from flowalg.triggers.describe import count_of, describe
from flowalg.triggers.syntax import Trigger, parts_of
from flowalg.windows.window import GLOBAL_WINDOW, Window

A_co = TypeVar("A_co", covariant=True)
Row = TypeVar("Row")

_FIRST_ROWS: Final = 30
_LAST_ROWS: Final = 10
_LONGEST: Final = 160
_MOST_ELEMENTS: Final = 4

_FONT: Final = "font-family: monospace; font-size: 90%;"
_LINE: Final = "border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.35);"
_CELL: Final = f"text-align: left; vertical-align: top; padding: 0.2em 0.8em; {_LINE}"
_HEAD: Final = f"{_CELL} font-weight: bold;"
_MORE: Final = f"{_CELL} text-align: center; opacity: 0.75;"
_TIMINGS: Final = {Timing.EARLY: "#56b4e9", Timing.ON_TIME: "#009e73", Timing.LATE: "#e69f00"}
_WARNING: Final = "border-left: 0.3em solid #d55e00; padding-left: 0.5em;"

_COLUMNS: Final = (
    "value",
    "window",
    "timing",
    "index",
    "first",
    "last",
    "processing time",
    "watermark",
    "change",
)


@frozen
class PaneTable(HasView, Generic[A_co]):
    """Panes that a notebook displays as a table: ``PaneTable(run.panes)``."""

    panes: tuple[Pane[A_co], ...]

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.panes, tuple) or not all(isinstance(pane, Pane) for pane in self.panes):
            raise ArgumentError("PaneTable.panes", self.panes, "a tuple of panes, such as run.panes")


@html_view.register(PTransform)
@html_view.register(PCollection)
def pipeline_html(pipeline: PCollection[object] | PTransform[Never, Bundle]) -> str:
    """Returns the lines of ``flowalg.explain`` as a tree, with the hazards marked at the side."""
    return _explanation(explanation(pipeline), map(str, hazards_of(pipeline)))


@html_view.register(PipelineText)
def _pipeline_text_html(text: PipelineText) -> str:
    return _explanation(text.lines, text.hazards)


def _explanation(lines: Sequence[Line], warnings: Iterable[str]) -> str:
    warned = "".join(
        f'<div style="margin: 0.3em 0; {_WARNING}"><b>hazard</b> {escape_text(hazard)}</div>'
        for hazard in warnings
    )
    return f'<div style="{_FONT}">{_tree(lines)}{warned}</div>'


@html_view.register
def _trigger_html(trigger: Trigger) -> str:
    """Returns when a trigger fires, in words, and its parts as a tree."""
    return f'<div style="{_FONT}"><b>fires {escape_text(describe(trigger))}</b>{_tree((_trigger_line(trigger),))}</div>'


def _trigger_line(trigger: Trigger) -> Line:
    parts = parts_of(trigger)
    return Line(type(trigger).__name__ if parts else _cut(repr(trigger)), tuple(map(_trigger_line, parts)))


@html_view.register(Window)
def _window_html(window: Window) -> str:
    """Returns a table with the start, the end and the length of a window."""
    length = "" if window == GLOBAL_WINDOW else str(timedelta(microseconds=window.end - window.start))
    cells = (_cell(str(window.start)), _cell(str(window.end)), _cell(length))
    return _table("window of event time", ("start", "end (exclusive)", "length"), (cells,), tuple)


@html_view.register(Pane)
def _pane_html(pane: Pane[object]) -> str:
    return panes_html((pane,))


@html_view.register(Timeline)
def timeline_html(timeline: Timeline[object]) -> str:
    """Returns a table of the instants of a timeline: processing time, elements and watermark."""
    if not isinstance(timeline, Timeline):
        raise ArgumentError("timeline", timeline, "a Timeline")
    count = sum(len(instant.elements) for instant in timeline)
    caption = f"{count_of(len(timeline), 'instant')}, {count_of(count, 'element')}"
    head = ("processing time", "elements", "watermark")
    return _table(caption, head, timeline.instants, _instant)


def panes_html(panes: Iterable[Pane[object]]) -> str:
    """Returns a table of panes; keyed panes have a column for the key."""
    rows = tuple(panes)
    for pane in rows:
        if not isinstance(pane, Pane):
            raise ArgumentError("panes", pane, "a sequence of panes, such as run.panes")
    if rows and all(isinstance(pane.element, KV) for pane in rows):
        return _table(count_of(len(rows), "pane"), ("key", *_COLUMNS), rows, _keyed_cells)
    return _table(count_of(len(rows), "pane"), _COLUMNS, rows, _unkeyed_cells)


@html_view.register(Run)
def run_html(run: Run[object], picture: str = "") -> str:
    """Returns a run: the numbers of panes by timing and of drops by reason, ``picture``, and the panes.

    ``picture`` is HTML between the counts and the panes.
    """
    timings = Counter(pane.timing for pane in run.panes if pane.change is Change.VALUE)
    reasons: Counter[DropReason] = Counter()
    for drop in run.dropped:
        reasons[drop.reason] += drop.count
    retractions = sum(pane.change is Change.RETRACTION for pane in run.panes)
    counts = [
        *(_badge(f"{timings[timing]:,} {_words(timing.value)}", _TIMINGS[timing]) for timing in Timing),
        *([_badge(count_of(retractions, "retraction"), "#d55e00")] if retractions else []),
        *(_badge(f"{count:,} dropped, {reason.value}", "#a0487f") for reason, count in reasons.items()),
    ]
    summary = f'<div style="margin: 0.4em 0;">{"".join(counts)}</div>'
    return f"<div>{summary}{picture}{output_html(run)}</div>"


@html_view.register(Output)
def output_html(output: Output[object]) -> str:
    """Returns a table of the panes of an output, or of its elements if nothing has grouped them."""
    return elements_html(output.elements) if output.elements else panes_html(output.panes)


def elements_html(elements: Iterable[OutputElement[object]]) -> str:
    """Returns a table of elements that nothing has grouped; keyed elements have a column for the key."""
    rows = tuple(elements)
    caption = count_of(len(rows), "element")
    times = ("event time", "processing time")
    if rows and all(isinstance(element.element, KV) for element in rows):
        return _table(caption, ("key", "value", *times), rows, _keyed_element)
    return _table(caption, ("value", *times), rows, _unkeyed_element)


@html_view.register(OutputElement)
def _element_html(element: OutputElement[object]) -> str:
    return elements_html((element,))


@html_view.register(Outputs)
def _outputs_html(outputs: Outputs) -> str:
    """Returns the outputs of a run, each under its name, and the number of dropped elements."""
    dropped = sum(drop.count for drop in outputs.dropped)
    summary = _badge(f"{dropped:,} dropped", "#a0487f") if dropped else ""
    parts = (
        f'<div style="{_FONT} margin: 0.4em 0;"><b>{escape_text(name)}</b></div>{output_html(output)}'
        for name, output in outputs.by_name.items()
    )
    return f"<div>{summary}{''.join(parts)}</div>"


@html_view.register(PaneTable)
def _pane_table(table: PaneTable[object]) -> str:
    return panes_html(table.panes)


def _table(
    caption: str, head: Sequence[str], rows: Sequence[Row], cells: Callable[[Row], Iterable[str]]
) -> str:
    """Returns a table of the first and the last rows, with the number of rows left out between them."""
    between = len(rows) - _FIRST_ROWS - _LAST_ROWS
    shown: Iterable[str] = (_row(cells(row)) for row in rows)
    if between > 0:
        more = f'<tr><td colspan="{len(head)}" style="{_MORE}">… {between:,} more …</td></tr>'
        first = (_row(cells(row)) for row in rows[:_FIRST_ROWS])
        shown = chain(first, [more], (_row(cells(row)) for row in rows[-_LAST_ROWS:]))
    names = "".join(f'<th style="{_HEAD}">{escape_text(name)}</th>' for name in head)
    style = f"{_FONT} color: inherit; background: transparent; border-collapse: collapse;"
    return (
        f'<table style="{style}"><caption style="text-align: left; opacity: 0.75;">{escape_text(caption)}</caption>'
        f"<thead><tr>{names}</tr></thead><tbody>{''.join(shown)}</tbody></table>"
    )


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str, style: str = "") -> str:
    return f'<td style="{_CELL}{style}">{escape_text(text)}</td>'


def _instant(instant: Instant[object]) -> Iterator[str]:
    yield _cell(str(instant.processing_time))
    shown = [repr(element) for element in instant.elements[:_MOST_ELEMENTS]]
    hidden = len(instant.elements) - len(shown)
    yield _cell(
        "\n".join([*map(_cut, shown), *([f"… {hidden:,} more"] if hidden else [])]), " white-space: pre-wrap;"
    )
    yield _cell(str(instant.watermark))


def _keyed_cells(pane: Pane[object]) -> Iterator[str]:
    assert isinstance(pane.element, KV)
    yield _cell(_cut(repr(pane.element.key)))
    yield from _pane_cells(pane, pane.element.value)


def _unkeyed_cells(pane: Pane[object]) -> Iterator[str]:
    yield from _pane_cells(pane, pane.element)


def _keyed_element(element: OutputElement[object]) -> Iterator[str]:
    assert isinstance(element.element, KV)
    yield _cell(_cut(repr(element.element.key)))
    yield from _element_cells(element, element.element.value)


def _unkeyed_element(element: OutputElement[object]) -> Iterator[str]:
    yield from _element_cells(element, element.element)


def _element_cells(element: OutputElement[object], value: object) -> Iterator[str]:
    yield _cell(_cut(repr(value)))
    yield _cell(str(element.event_time))
    yield _cell(str(element.processing_time))


def _pane_cells(pane: Pane[object], value: object) -> Iterator[str]:
    retracted = pane.change is Change.RETRACTION
    yield _cell(_cut(repr(value)), " text-decoration: line-through;" if retracted else "")
    yield _cell(str(pane.window))
    yield _cell(_words(pane.timing.value), f" border-left: 0.3em solid {_TIMINGS[pane.timing]};")
    yield _cell(str(pane.index))
    yield _cell("first" if pane.is_first else "")
    yield _cell("last" if pane.is_last else "")
    yield _cell(str(pane.processing_time))
    yield _cell(str(pane.watermark))
    yield _cell(pane.change.value)


def _tree(lines: Sequence[Line]) -> str:
    """Returns lines as nested lists; a named transform is a box that opens."""
    style = "margin: 0; padding-left: 1.2em; list-style: none;"
    items: list[str] = []
    for line in lines:
        text, inner = escape_text(line.text), _tree(line.children) if line.children else ""
        if line.is_transform:
            text, inner = f"<details><summary>{text}</summary>{inner}</details>", ""
        items.append(f'<li style="white-space: pre-wrap;">{text}{inner}</li>')
    return f'<ul style="{style}">{"".join(items)}</ul>'


def _badge(text: str, colour: str) -> str:
    style = f"{_FONT} border-left: 0.3em solid {colour}; padding-left: 0.4em; margin-right: 1.2em;"
    return f'<span style="{style}">{escape_text(text)}</span>'


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
