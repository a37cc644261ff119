"""The picture: where one day's flights lie in event time and processing time, and how the watermark runs.

After the drawings of the Dataflow Model paper: event time goes to the right, processing time upwards. A flight that
leaves on schedule lies on the diagonal; one that leaves late lies above it, by its delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, unique
from math import ceil, floor
from pathlib import Path
from typing import Final

import matplotlib as mpl
from attrs import frozen
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

INK: Final = "#222222"


@unique
class Fate(Enum):
    """What became of a departure: its legend, colour and marker, distinct to any eye and in grey."""

    ON_TIME = "on time: before the watermark passed its hour", "#4477aa", "o"
    LATE = "late: after that", "#ee8800", "^"
    DROPPED = "dropped: after the allowed lateness too", INK, "x"


@frozen
class Mark:
    """A departure in both times, and what became of it."""

    scheduled: datetime
    actual: datetime
    fate: Fate


@frozen
class Reading:
    """The watermark after an instant of processing time."""

    processing_time: datetime
    watermark: datetime


@frozen
class Day:
    """What is drawn of one day, which begins at ``midnight``; places on the axes are hours since then."""

    midnight: datetime
    marks: Sequence[Mark]
    readings: Sequence[Reading]

    def at(self, point: datetime) -> float:
        """Where a point in time lies on either axis."""
        return (point - self.midnight) / timedelta(hours=1)


def draw(day: Day, title: str, subtitle: str, stem: Path) -> None:
    """Draw the day, as ``stem`` with the suffixes .png and .svg."""
    with mpl.rc_context():
        mpl.rcParams.update({"font.size": 9.5, "text.color": INK, "svg.hashsalt": stem.name})
        figure = Figure(figsize=(7.6, 9.1), layout="constrained")
        axes = figure.add_subplot()
        _frame(axes, day)
        _flights(axes, day)
        _lines(axes, day)
        axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold", pad=24)
        axes.annotate(subtitle, (0, 1), (0, 9), xycoords="axes fraction", textcoords="offset points")
        axes.legend(loc="lower right", frameon=True, framealpha=1, edgecolor="none")
        figure.savefig(stem.with_suffix(".png"), dpi=160)
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})


def _frame(axes: Axes, day: Day) -> None:
    """Both axes on one scale, so that the diagonal is one; the hourly windows as vertical lines."""
    scheduled = [day.at(mark.scheduled) for mark in day.marks]
    actual = [day.at(mark.actual) for mark in day.marks]
    start = floor(min(*scheduled, *actual))
    axes.set_xlim(start, ceil(max(scheduled)) + 0.25)
    axes.set_ylim(start, ceil(max(actual)))
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MultipleLocator(3))
        axis.set_minor_locator(MultipleLocator(1))
        axis.set_major_formatter(FuncFormatter(lambda hour, _: f"{hour % 24:02.0f}:00"))
    axes.grid(axis="x", which="both", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("event time: scheduled departure, New York (hourly windows)")
    axes.set_ylabel("processing time: actual departure, New York")


def _flights(axes: Axes, day: Day) -> None:
    for fate in Fate:
        legend, colour, marker = fate.value
        those = [mark for mark in day.marks if mark.fate is fate]
        axes.scatter(
            [day.at(mark.scheduled) for mark in those],
            [day.at(mark.actual) for mark in those],
            s=16,
            marker=marker,
            color=colour,
            alpha=0.75,
            linewidths=1.0 if marker == "x" else 0.0,
            label=f"{legend} ({len(those)})",
            zorder=3,
        )


def _lines(axes: Axes, day: Day) -> None:
    """The ideal, and the watermark: it stands while the clock goes on, and moves right when flights are seen."""
    start = axes.get_xlim()[0]
    axes.axline(
        (start, start), slope=1, color="#8a8a8a", linestyle=(0, (5, 3)), label="ideal: nothing is delayed"
    )
    axes.step(
        [day.at(one.watermark) for one in day.readings],
        [day.at(one.processing_time) for one in day.readings],
        where="pre",
        color="#aa3377",
        linewidth=1.6,
        label="watermark: what lies to its left is taken to be complete",
        zorder=4,
    )


__all__ = ["Day", "Fate", "Mark", "Reading", "draw"]
