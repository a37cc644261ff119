"""How a run went on over processing time: the watermark's lag, the windows kept, and the panes that came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from flowalg.runs.panes import Timing
from flowalg.runs.run import Run
from flowalg.triggers.describe import duration_in_words
from flowalg_tools.pictures.files import save, target_of
from flowalg_tools.pictures.run_facts import facts_of
from flowalg_tools.pictures.scales import DAY, HOUR, MINUTE, SECOND, ticks_of
from flowalg_tools.pictures.style import BLUE, GREY, INK, PALE, RETRACTION, TIMINGS, VERMILION, Look
from flowalg_tools.pictures.time_series import Course, Point, course_of

_WIDTH: Final = 620.0
_HEIGHT: Final = 120.0
_LEFT, _RIGHT, _BELOW, _ABOVE, _BETWEEN = 74.0, 118.0, 46.0, 50.0, 30.0
_UNITS: Final = (("days", DAY), ("hours", HOUR), ("minutes", MINUTE), ("seconds", SECOND))


def draw_progress(run: Run[object], path: Path | str, *, title: str | None = None) -> None:
    """Write how a run went on, as SVG or PNG, in three panels over processing time, in UTC.

    The lag of the watermark is the processing time less the watermark; there is none while the watermark says nothing,
    or once the input has ended. That of the output is there too where a grouping holds it back. Windows are kept from
    their first element until they are freed, those of all groupings and keys together; they are not known of a run of
    another interpreter. Panes are counted by timing over stretches of a round length.

    Windows that merge, several groupings and side inputs are counted by going through the run again, which takes as
    long as the run did. Raises ``ArgumentError`` for a path that ends in neither ``.svg`` nor ``.png``.
    """
    target = target_of(path)
    facts = facts_of(run)
    save(_figure(course_of(run, facts), facts.heading if title is None else title), target)


def _figure(course: Course, title: str) -> Figure:
    width = _LEFT + _WIDTH + _RIGHT
    height = _BELOW + 3 * _HEIGHT + 2 * _BETWEEN + _ABOVE
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    panels: tuple[Callable[[Axes, Course], Sequence[Line2D | Patch]], ...] = (_lag, _kept, _panes)
    ticks = ticks_of(course.span, int(_WIDTH // 76))
    for number, panel in enumerate(panels):
        bottom = _BELOW + (2 - number) * (_HEIGHT + _BETWEEN)
        axes = figure.add_axes(
            (_LEFT / width, bottom / height, _WIDTH / width, _HEIGHT / height), label=str(number)
        )
        handles = panel(axes, course)
        axes.set_xlim(0, 1)
        last = number == len(panels) - 1
        axes.set_xticks(
            [one.share for one in ticks.ticks], [one.label if last else "" for one in ticks.ticks]
        )
        axes.tick_params(labelsize=8.5, colors=INK)
        axes.grid(visible=True, color=PALE, lw=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if course.ended is not None:
            axes.axvline(course.span.share(course.ended), color=GREY, lw=0.9, ls=(0, (2, 2)), zorder=1)
        if last:
            axes.set_xlabel(ticks.named("processing time"), fontsize=9.5, color=INK)
        if last and course.ended is not None:
            handles = [*handles, Line2D([], [], color=GREY, lw=0.9, ls=(0, (2, 2)), label="end of the input")]
        if handles:
            axes.legend(
                handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5
            )
    figure.text(
        _LEFT / width, (height - 16) / height, title, size=12, weight="bold", color=INK, parse_math=False
    )
    return figure


def _lag(axes: Axes, course: Course) -> Sequence[Line2D]:
    known = [abs(value) for _, value in (*course.lag, *course.held) if value is not None]
    name, unit = next((one for one in _UNITS if max(known, default=0) >= 2 * one[1]), _UNITS[-1])
    handles = [Line2D([], [], color=BLUE, lw=1.5, label="of the input")]
    if course.held:
        handles.append(Line2D([], [], color=VERMILION, lw=1.2, ls="--", label="of the output"))
        _line(axes, course, course.held, unit, Look("", VERMILION, "--", 1.2))
    _line(axes, course, course.lag, unit, Look("", BLUE, "-", 1.5))
    thinned = ", the greatest of each while" if course.thinned else ""
    _heading(axes, f"how far the watermark lags behind, in {name}{thinned}")
    if not known:
        _say(axes, "the watermark says nothing until the input ends")
    if min((value for _, value in course.lag if value is not None), default=0) >= 0:
        axes.set_ylim(bottom=0)
    return handles if known else ()


def _kept(axes: Axes, course: Course) -> Sequence[Line2D]:
    _heading(axes, "windows kept, of all keys" + (", the most of each while" if course.thinned else ""))
    _line(axes, course, course.kept, 1, Look("", INK, "-", 1.4), steps=True)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.set_ylim(bottom=0)
    if not course.kept:
        _say(axes, "not known of a run of another interpreter")
    return ()


def _panes(axes: Axes, course: Course) -> Sequence[Patch]:
    stretch = duration_in_words(timedelta(microseconds=course.step))
    _heading(axes, f"panes per {stretch}")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    below = [0] * len(course.buckets)
    handles: list[Patch] = []
    for timing in Timing:
        counts = [dict(one.values)[timing] for one in course.buckets]
        handles += _stack(axes, course, counts, below, TIMINGS[timing])
        below = [a + b for a, b in zip(below, counts, strict=True)]
    handles += _stack(axes, course, [one.retractions for one in course.buckets], below, RETRACTION)
    if not course.buckets:
        axes.set_ylim(0, 1)
        _say(axes, "none has come out")
    return list(reversed(handles))


def _stack(
    axes: Axes, course: Course, counts: Sequence[int], below: Sequence[int], look: Look
) -> Sequence[Patch]:
    if not any(counts):
        return ()
    edges = [(max(one.start, course.span.first), one.start + course.step) for one in course.buckets]
    lefts = [course.span.share(start) for start, _ in edges]
    widths = [course.span.share(end) - left for (_, end), left in zip(edges, lefts, strict=True)]
    axes.bar(
        lefts,
        counts,
        widths,
        list(below),
        align="edge",
        color=look.colour if look is not RETRACTION else "white",
        edgecolor="white" if look is not RETRACTION else look.colour,
        linewidth=0.4,
        hatch=look.hatch,
        zorder=2,
    )
    face = look.colour if look is not RETRACTION else "white"
    edge = "white" if look is not RETRACTION else look.colour
    return (Patch(facecolor=face, edgecolor=edge, hatch=look.hatch, label=look.name, linewidth=0.4),)


def _line(
    axes: Axes, course: Course, points: Sequence[Point], unit: int, look: Look, *, steps: bool = False
) -> None:
    """A line through points; where a value is not known there is none."""
    if not points:
        return
    across = [course.span.share(time) for time, _ in points]
    up = [float("nan") if value is None else value / unit for _, value in points]
    style = "steps-post" if steps else "default"
    axes.plot(across, up, color=look.colour, lw=look.width, ls=look.line, drawstyle=style, zorder=3)
    axes.plot(across, up, color=look.colour, ls="", marker=".", ms=2.5, zorder=3)


def _heading(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=9.5, color=INK, pad=5)


def _say(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, fontsize=9.5, transform=axes.transAxes)


__all__ = ["draw_progress"]
