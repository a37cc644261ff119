"""The terminal output of the demo: its progress and its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from attrs import define, field
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from flights.data import NEW_YORK
from flights.outcomes import AirportHour, Outcome, Stats
from flowalg.runs import Timing

FEWEST: Final = 10
"""Departures that an airport-hour needs to be ranked. Three in four have 13 or more; the mean of two is an anecdote."""


@define
class Steps:
    """The steps of the demo: a line for each finished step, and a progress bar if the output is a terminal."""

    progress: Progress
    seconds: dict[str, float] = field(factory=dict)

    @contextmanager
    def step(self, name: str, units: int = 1) -> Iterator[Callable[[int], None]]:
        """A step of ``units`` units of progress; yields a function that takes the number of finished units."""
        (task,) = self.progress.tasks
        before, start = task.completed, perf_counter()
        self.progress.update(task.id, description=name)
        yield lambda done: self.progress.update(task.id, completed=before + min(done, units))
        self.seconds[name] = perf_counter() - start
        self.progress.update(task.id, completed=before + units)
        self.progress.console.print(f"{name:<42}{self.seconds[name]:5.1f} s", highlight=False)


@contextmanager
def steps(console: Console, units: int) -> Iterator[Steps]:
    """The steps of the demo, with ``units`` units of progress in all."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task("", total=units)
        yield Steps(bar)


def worst_hours(finals: Mapping[AirportHour, Stats], count: int = 10) -> Table:
    """The airport-hours with the greatest mean delay, among those with enough departures to rank."""
    title = f"The {count} worst airport-hours of {FEWEST} departures or more"
    table = _table(title, ("hour in New York", "airport"), ("departures", "mean delay"))
    ranked = [item for item in finals.items() if item[1].departures >= FEWEST]
    ranked.sort(key=lambda item: (-item[1].mean_delay, item[0][1], item[0][0]))
    for (origin, window), stats in ranked[:count]:
        hour = window.start.datetime.astimezone(NEW_YORK)
        table.add_row(f"{hour:%a %d %b, %H:%M}", origin, str(stats.departures), f"{stats.mean_delay:.1f} min")
    return table


def engine_table(outcomes: Sequence[Outcome], seconds: Mapping[str, float]) -> Table:
    """The number of panes by timing, the number of dropped departures, and the time of each engine."""
    numbers = ("instants", "early", "on time", "late", "dropped", "time")
    table = _table("Panes, and dropped departures, of each engine", ("engine", "over"), numbers)
    for outcome in outcomes:
        panes = [outcome.timings[timing] for timing in (Timing.EARLY, Timing.ON_TIME, Timing.LATE)]
        counts = [f"{count:,}" for count in (outcome.instants, *panes, sum(outcome.dropped.values()))]
        table.add_row(outcome.engine, outcome.over, *counts, f"{seconds[outcome.engine]:.1f} s")
    return table


def _table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table
