"""The published figures, from ``figures.json``: their inputs, watermarks and panes.

The figures have times of day only; the date is arbitrary.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from attrs import frozen

from flowalg import EventTime, ProcessingTime, Window
from flowalg.data.time import event_time, processing_time
from flowalg.runs import Timing
from flowalg.windows import GLOBAL_WINDOW

NOON: Final = datetime(2015, 8, 31, 12, tzinfo=UTC)
END_OF_INPUT: Final = NOON.replace(minute=10)
"""The end of the input, or of the figures."""

_PATH: Final = Path(__file__).with_name("figures.json")

Engine: TypeAlias = Literal["batch", "micro-batch", "streaming"]


@frozen
class Datum:
    """One of the ten data of the papers' example."""

    value: int
    event_time: datetime


@frozen
class Arrival:
    """A datum and the time at which the pipeline observes it."""

    datum: Datum
    processing_time: datetime


@frozen
class WatermarkStep:
    """A step of the watermark: its event time from a processing time on."""

    processing_time: datetime
    event_time: datetime


@frozen
class FigurePane:
    """A pane of a figure; a retraction has the negated value, and unknown fields are ``None``."""

    window: Window
    value: int
    processing_time: ProcessingTime | None
    timing: Timing | None
    retraction: bool

    def __str__(self) -> str:
        when = "" if self.processing_time is None else f" at {_format_time(self.processing_time)}"
        timing = "" if self.timing is None else f", {self.timing.value}"
        return f"{'retraction ' if self.retraction else ''}{self.value} of {_span(self.window)}{when}{timing}"


@frozen
class Closing:
    """The processing time after which a window accepts no elements: its allowed lateness has passed."""

    window: Window
    processing_time: ProcessingTime

    def __str__(self) -> str:
        return f"{_span(self.window)} at {_format_time(self.processing_time)}"


@frozen
class PublishedFigure:
    """One figure: its input and its expected output, with the panes in order."""

    name: str
    engine: Engine
    arrivals: tuple[Arrival, ...]
    watermark: tuple[WatermarkStep, ...]
    panes: tuple[FigurePane, ...]
    dropped: tuple[int, ...]
    closed: tuple[Closing, ...]
    window: Window | None = None
    """The only window whose panes the paper lists, if it does not list all."""

    def lists(self, window: Window) -> bool:
        """Whether the paper lists the panes of a window."""
        return self.window in (None, window)

    @property
    def shows_timing(self) -> bool:
        """Whether the figure distinguishes early, on-time and late panes."""
        return any(pane.timing is not None for pane in self.panes)


def read_figures() -> dict[str, PublishedFigure]:
    """Returns all figures by id, in the order of the file."""
    data = json.loads(_PATH.read_text(encoding="utf-8"))
    return {figure["id"]: _read_figure(data, figure) for figure in data["figures"]}


def clock(text: str) -> datetime:
    """The time of a text such as ``12:05`` or ``12:05:19``."""
    return datetime.combine(NOON, time.fromisoformat(text), tzinfo=UTC)


def _read_figure(data: dict[str, Any], figure: dict[str, Any]) -> PublishedFigure:
    watermark = figure["watermark"]
    curve = data["watermarks"][watermark]
    return PublishedFigure(
        figure["id"],
        _engine(watermark),
        tuple(
            Arrival(Datum(arrival["value"], clock(arrival["event_time"])), clock(arrival["processing_time"]))
            for arrival in data["inputs"][figure["input"]]
        ),
        () if isinstance(curve, str) else tuple(WatermarkStep(clock(p), clock(e)) for p, e in curve),
        tuple(_pane(pane) for pane in sorted(figure["expected"], key=lambda pane: pane["order"])),
        tuple(datum["value"] for datum in figure.get("dropped", ())),
        tuple(
            Closing(_window(closing["window"]), processing_time(clock(closing["proc_time"])))
            for closing in figure.get("closed", ())
        ),
        _window(figure["restrict_to_window"]) if "restrict_to_window" in figure else None,
    )


def _engine(watermark: str) -> Engine:
    match watermark:
        case "batch":
            return "batch"
        case "micro_batch":
            return "micro-batch"
        case _:
            return "streaming"


def _pane(data: dict[str, Any]) -> FigurePane:
    when = data["proc_time"]
    timing = data["timing"]
    return FigurePane(
        _window(data["window"]),
        data["value"],
        None if when is None else processing_time(clock(when)),
        None if timing == "none" else Timing(timing),
        data["retraction"],
    )


def _format_time(point: EventTime | ProcessingTime) -> str:
    return point.datetime.strftime("%H:%M:%S")


def _span(window: Window) -> str:
    return (
        str(window)
        if window == GLOBAL_WINDOW
        else f"[{_format_time(window.start)}, {_format_time(window.end)})"
    )


def _window(data: str | list[str]) -> Window:
    if isinstance(data, str):
        return GLOBAL_WINDOW
    start, end = (EventTime(event_time(clock(time))) for time in data)
    return Window(start, end)
