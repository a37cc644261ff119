"""The results of an engine, and the comparison of two engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Final, Protocol, TypeAlias

from attrs import evolve, frozen

from flowalg import KV, EventTime, Pane, Window
from flowalg.runs import Timing

AirportHour: TypeAlias = tuple[str, Window]

SHOWN: Final = 5
"""The maximum number of differences to print."""


class Stats(Protocol):
    """The result of the pipeline for an airport and an hour."""

    @property
    def departures(self) -> int:
        """The number of departures."""
        ...

    @property
    def mean_delay(self) -> float:
        """Their mean delay in minutes."""
        ...


@frozen
class Outcome:
    """The results of an engine: its panes, and the number of dropped departures of each airport and hour."""

    engine: str
    over: str
    instants: int
    panes: tuple[Pane[KV[str, Stats]], ...]
    dropped: Mapping[AirportHour, int]

    @property
    def finals(self) -> dict[AirportHour, Stats]:
        """The final value of each airport-hour: that of its last pane, since panes accumulate."""
        return {
            (pane.key, pane.window): pane.value for pane in sorted(self.panes, key=lambda pane: pane.index)
        }

    @property
    def timings(self) -> Counter[Timing]:
        """The number of panes by timing."""
        return Counter(pane.timing for pane in self.panes)

    def within(self, start: EventTime, end: EventTime) -> Outcome:
        """The outcome of the windows inside an interval of event time."""

        def inside(window: Window) -> bool:
            return start <= window.start and window.end <= end

        return evolve(
            self,
            panes=tuple(pane for pane in self.panes if inside(pane.window)),
            dropped={hour: count for hour, count in self.dropped.items() if inside(hour[1])},
        )

    def accounts_for(self, departures: int) -> bool:
        """Whether final values and drops add up to this number of departures: none lost, none counted twice."""
        return (
            sum(stats.departures for stats in self.finals.values()) + sum(self.dropped.values()) == departures
        )


@frozen
class Comparison:
    """The exact comparison of two engines' final values for every airport-hour without drops."""

    engines: tuple[str, str]
    compared: int
    left_out: int
    differences: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether at least one value was compared, and all were equal."""
        return self.compared > 0 and not self.differences

    def __str__(self) -> str:
        verdict = f"{len(self.differences):,} differ" if self.differences else "all equal"
        summary = (
            f"{' and '.join(self.engines)}: {self.compared:,} airport-hours compared, {verdict}; "
            f"{self.left_out:,} that dropped departures are left out"
        )
        return "\n  ".join([summary, *islice(self.differences, SHOWN)])


def compare(left: Outcome, right: Outcome) -> Comparison:
    """Compares the final values of two engines for each airport-hour without drops."""
    left_finals, right_finals = left.finals, right.finals
    dropping = {*left.dropped, *right.dropped}
    hours = sorted({*left_finals, *right_finals} - dropping, key=lambda hour: (hour[1], hour[0]))
    differences = tuple(
        f"{origin} {window}: {left.engine} has {left_finals.get((origin, window), 'nothing')}, "
        f"{right.engine} has {right_finals.get((origin, window), 'nothing')}"
        for origin, window in hours
        if left_finals.get((origin, window)) != right_finals.get((origin, window))
    )
    return Comparison((left.engine, right.engine), len(hours), len(dropping), differences)
