"""What the papers' figures show, read from ``figures.json``: their input, their watermarks and their panes.

The figures give clock times only, so a day is made up for them.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from attrs import frozen

from flowalg import GLOBAL_WINDOW, EventTime, ProcessingTime, Timing, Window, to_datetime
from flowalg.data.time import event_time, processing_time

NOON: Final = datetime(2015, 8, 31, 12, tzinfo=UTC)
END_OF_INPUT: Final = NOON.replace(minute=10)
"""When the input ends, or the figures do."""

_PATH: Final = Path(__file__).with_name("figures.json")

Engine: TypeAlias = Literal["batch", "micro-batch", "streaming"]


@frozen
class Datum:
    """One of the ten data of the running example."""

    value: int
    event_time: datetime


@frozen
class Arrival:
    """A datum, and when the pipeline sees it."""

    datum: Datum
    processing_time: datetime


@frozen
class WatermarkStep:
    """From a processing time on, the watermark is at an event time."""

    processing_time: datetime
    event_time: datetime


@frozen
class PaneFact:
    """A pane as a figure shows it; a retraction has the negated value, and what is not known is ``None``."""

    window: Window
    value: int
    processing_time: ProcessingTime | None
    timing: Timing | None
    retraction: bool

    def __str__(self) -> str:
        when = "" if self.processing_time is None else f" at {_shown(self.processing_time)}"
        timing = "" if self.timing is None else f", {self.timing.value}"
        return f"{'retraction ' if self.retraction else ''}{self.value} of {_span(self.window)}{when}{timing}"


@frozen
class Closing:
    """A window takes nothing in after a processing time: the watermark has passed its lateness horizon."""

    window: Window
    processing_time: ProcessingTime

    def __str__(self) -> str:
        return f"{_span(self.window)} at {_shown(self.processing_time)}"


@frozen
class Facts:
    """One figure: what goes in, and what is to come out of it, panes in order."""

    name: str
    engine: Engine
    arrivals: tuple[Arrival, ...]
    watermark: tuple[WatermarkStep, ...]
    panes: tuple[PaneFact, ...]
    dropped: tuple[int, ...]
    closed: tuple[Closing, ...]

    @property
    def shows_timing(self) -> bool:
        """Whether the figure tells early, on-time and late panes apart."""
        return any(one.timing is not None for one in self.panes)


def read_facts() -> dict[str, Facts]:
    """All figures by their id, in the order of the file."""
    told = json.loads(_PATH.read_text(encoding="utf-8"))
    return {figure["id"]: _facts(told, figure) for figure in told["figures"]}


def clock(text: str) -> datetime:
    """The point that a clock time stands for: ``12:05`` or ``12:05:19``."""
    return datetime.combine(NOON, time.fromisoformat(text), tzinfo=UTC)


def _facts(told: dict[str, Any], figure: dict[str, Any]) -> Facts:
    watermark = figure["watermark"]
    curve = told["watermarks"][watermark]
    return Facts(
        figure["id"],
        _engine(watermark),
        tuple(
            Arrival(Datum(one["value"], clock(one["event_time"])), clock(one["processing_time"]))
            for one in told["inputs"][figure["input"]]
        ),
        () if isinstance(curve, str) else tuple(WatermarkStep(clock(p), clock(e)) for p, e in curve),
        tuple(_pane(one) for one in sorted(figure["expected"], key=lambda pane: pane["order"])),
        tuple(one["value"] for one in figure.get("dropped", ())),
        tuple(
            Closing(_window(one["window"]), processing_time(clock(one["proc_time"])))
            for one in figure.get("closed", ())
        ),
    )


def _engine(watermark: str) -> Engine:
    match watermark:
        case "batch":
            return "batch"
        case "micro_batch":
            return "micro-batch"
        case _:
            return "streaming"


def _pane(told: dict[str, Any]) -> PaneFact:
    when = told["proc_time"]
    timing = told["timing"]
    return PaneFact(
        _window(told["window"]),
        told["value"],
        None if when is None else processing_time(clock(when)),
        None if timing == "none" else Timing(timing),
        told["retraction"],
    )


def _shown(point: EventTime | ProcessingTime) -> str:
    return to_datetime(point).strftime("%H:%M:%S")


def _span(window: Window) -> str:
    return str(window) if window == GLOBAL_WINDOW else f"[{_shown(window.start)}, {_shown(window.end)})"


def _window(told: str | list[str]) -> Window:
    if isinstance(told, str):
        return GLOBAL_WINDOW
    start, end = (EventTime(event_time(clock(one))) for one in told)
    return Window.of(start, end)


__all__ = [
    "END_OF_INPUT",
    "NOON",
    "Arrival",
    "Closing",
    "Datum",
    "Engine",
    "Facts",
    "PaneFact",
    "WatermarkStep",
    "clock",
    "read_facts",
]
