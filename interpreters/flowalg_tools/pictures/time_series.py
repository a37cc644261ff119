"""Time series of a run: the watermark lag, the live windows, and the panes of each interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import frozen
from flowalg_reference import WatermarkReading

from flowalg.data.metadata import Timing
from flowalg.data.time import MAX_TIME, MIN_TIME, ProcessingTime
from flowalg.runs.panes import Change, Pane
from flowalg.runs.run import Run
from flowalg_tools.pictures.run_facts import RunFacts
from flowalg_tools.pictures.scales import Range, round_step
from flowalg_tools.pictures.state_over_time import count_live_windows

MAX_POINTS: Final = 800
_MAX_BUCKETS: Final = 60

Point = tuple[int, int | None]
"""A processing time and a value; ``None`` means that the value is unknown."""


@frozen
class Bucket:
    """The panes of an interval of processing time: the numbers of values by timing, and of retractions."""

    start: int
    values: tuple[tuple[Timing, int], ...]
    retractions: int

    @property
    def total(self) -> int:
        """The number of panes."""
        return self.retractions + sum(count for _, count in self.values)


@frozen
class TimeSeries:
    """The time series of a run, in microseconds.

    ``lag`` is the processing time minus the watermark of the input, and ``held`` minus that of the output, or empty if
    these are equal. ``kept`` is the number of live windows, or empty if it is unknown. If ``thinned``, there is only
    the greatest value of each short interval. ``ended`` is the time at which the input ended.
    """

    span: Range
    lag: tuple[Point, ...]
    held: tuple[Point, ...]
    kept: tuple[Point, ...]
    buckets: tuple[Bucket, ...]
    step: int
    thinned: bool
    ended: int | None


def time_series_of(run: Run[object], facts: RunFacts) -> TimeSeries:
    """Returns the time series of a run."""
    times = [int(reading.processing_time) for reading in facts.readings]
    times += [int(keyed.pane.processing_time) for keyed in facts.panes]
    span = Range.around(times)
    lag = _lags((reading.processing_time, reading.input) for reading in facts.readings)
    held = _lags((reading.processing_time, reading.output) for reading in facts.readings)
    kept: list[Point] = list(count_live_windows(run, facts.elements).items())
    step = round_step(span.length, _MAX_BUCKETS)
    ended = [int(reading.processing_time) for reading in facts.readings if reading.input >= MAX_TIME]
    return TimeSeries(
        span,
        _thin(lag, span),
        () if _lags_equal(facts.readings) else _thin(held, span),
        _thin(kept, span),
        _buckets([keyed.pane for keyed in facts.panes], step),
        step,
        len(lag) > MAX_POINTS,
        min(ended, default=None),
    )


def _lags_equal(readings: Sequence[WatermarkReading]) -> bool:
    return all(reading.input == reading.output for reading in readings)


def _lags(readings: Iterable[tuple[ProcessingTime, int]]) -> list[Point]:
    """Returns the lag before and after each instant, which grows with the clock and falls when the watermark advances.

    It is unknown before the first watermark and after the end of the input.
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


def _thin(points: Sequence[Point], span: Range) -> tuple[Point, ...]:
    """Returns the points; if there are many, the greatest of each short interval, the first and the last."""
    if len(points) <= MAX_POINTS:
        return tuple(points)
    greatest: dict[int, Point] = {}
    for point in points:
        interval = int(span.fraction(point[0]) * (MAX_POINTS - 2))
        previous = greatest.get(interval)
        if previous is None or _size(point) >= _size(previous):
            greatest[interval] = point
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
        Bucket(start, tuple((timing, values[start, timing]) for timing in Timing), retractions[start])
        for start in starts
    )
