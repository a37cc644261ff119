"""How a run went on, as values: the watermark's lag, the windows kept, and the panes of each stretch of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import frozen
from flowalg_reference import WatermarkReading

from flowalg.data.time import MAX_TIME, MIN_TIME, ProcessingTime
from flowalg.runs.panes import Change, Pane, Timing
from flowalg.runs.run import Run
from flowalg_tools.pictures.run_facts import Facts
from flowalg_tools.pictures.scales import Range, round_step
from flowalg_tools.pictures.state_over_time import kept_windows

MOST_POINTS: Final = 800
_MOST_BUCKETS: Final = 60

Point = tuple[int, int | None]
"""A processing time, and what there was then; ``None`` where that is not known."""


@frozen
class Bucket:
    """The panes of a stretch of processing time: how many values of each timing, and how many retractions."""

    start: int
    values: tuple[tuple[Timing, int], ...]
    retractions: int

    @property
    def total(self) -> int:
        """All of its panes."""
        return self.retractions + sum(count for _, count in self.values)


@frozen
class Course:
    """How a run went on over processing time, all in microseconds.

    ``lag`` is the processing time less the watermark of the whole input, and ``held`` less that of the output, where
    that is another. ``kept`` is empty where it is not known. ``thinned`` says that of each short while the greatest
    value alone is there. ``ended`` is when the input ended.
    """

    span: Range
    lag: tuple[Point, ...]
    held: tuple[Point, ...]
    kept: tuple[Point, ...]
    buckets: tuple[Bucket, ...]
    step: int
    thinned: bool
    ended: int | None


def course_of(run: Run[object], facts: Facts) -> Course:
    """How a run went on."""
    times = [int(one.processing_time) for one in facts.readings]
    times += [int(one.pane.processing_time) for one in facts.panes]
    span = Range.around(times)
    lag = _lags((one.processing_time, one.input) for one in facts.readings)
    held = _lags((one.processing_time, one.output) for one in facts.readings)
    kept: list[Point] = list(kept_windows(run, facts.observations).items())
    step = round_step(span.length, _MOST_BUCKETS)
    ended = [int(one.processing_time) for one in facts.readings if one.input >= MAX_TIME]
    return Course(
        span,
        _thinned(lag, span),
        () if _same(facts.readings) else _thinned(held, span),
        _thinned(kept, span),
        _buckets([one.pane for one in facts.panes], step),
        step,
        len(lag) > MOST_POINTS,
        min(ended, default=None),
    )


def _same(readings: Sequence[WatermarkReading]) -> bool:
    return all(one.input == one.output for one in readings)


def _lags(readings: Iterable[tuple[ProcessingTime, int]]) -> list[Point]:
    """The lag before and after each instant: it grows with the clock, and falls when the watermark moves.

    There is none before the first watermark, nor once the input has ended.
    """
    points: dict[Point, None] = {}
    before = int(MIN_TIME)
    for time, watermark in readings:
        if MIN_TIME < before < MAX_TIME:
            points[int(time), int(time) - before] = None
        lag = int(time) - watermark if MIN_TIME < watermark < MAX_TIME else None
        points[int(time), lag] = None
        before = int(watermark)
    return list(points)


def _thinned(points: Sequence[Point], span: Range) -> tuple[Point, ...]:
    """The points, or if they are many the greatest of each of many short whiles, and the last."""
    if len(points) <= MOST_POINTS:
        return tuple(points)
    greatest: dict[int, Point] = {}
    for point in points:
        while_ = int(span.share(point[0]) * (MOST_POINTS - 2))
        known = greatest.get(while_)
        if known is None or _size(point) >= _size(known):
            greatest[while_] = point
    return tuple(dict.fromkeys((points[0], *greatest.values(), points[-1])))


def _size(point: Point) -> float:
    return float("-inf") if point[1] is None else point[1]


def _buckets(panes: Iterable[Pane[object]], step: int) -> tuple[Bucket, ...]:
    values: Counter[tuple[int, Timing]] = Counter()
    retractions: Counter[int] = Counter()
    for pane in panes:
        start = pane.processing_time // step * step
        if pane.change is Change.RETRACTION:
            retractions[start] += 1
        else:
            values[start, pane.timing] += 1
    starts = sorted({start for start, _ in values} | set(retractions))
    return tuple(
        Bucket(one, tuple((timing, values[one, timing]) for timing in Timing), retractions[one])
        for one in starts
    )


__all__ = ["MOST_POINTS", "Bucket", "Course", "Point", "course_of"]
