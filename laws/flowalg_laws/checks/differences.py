"""Observational equality: two triggers are equal if no scenario distinguishes them.

``find_difference`` searches for the smallest scenario that distinguishes them, and draws it as a table.
"""

from __future__ import annotations

from datetime import timedelta

from attrs import frozen
from flowalg_reference import ReferenceRun
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from flowalg import KV, Pane, ProcessingTime
from flowalg.data.errors import ArgumentError
from flowalg.runs import Change, DroppedElement
from flowalg.runs.signals import in_order
from flowalg.triggers import Trigger, describe
from flowalg_laws.kit.drawing import format_reading, format_table, format_time
from flowalg_laws.kit.scenarios import Scenario, observe
from flowalg_laws.strategies import scenarios


@frozen
class Difference:
    """A scenario in which two triggers emit different panes or drops."""

    left: Trigger
    right: Trigger
    scenario: Scenario

    def __str__(self) -> str:
        windowing = self.scenario.windowing
        lateness = windowing.allowed_lateness
        lines = [
            f"left:  {describe(self.left)}",
            f"right: {describe(self.right)}",
            f"over {windowing.windows}, {windowing.mode.name.lower()}, lateness "
            f"{lateness if isinstance(lateness, timedelta) else 'unlimited'}, {self.scenario.mode.value} mode",
            *self._corrections(),
            "",
            *format_table(
                ("processing time", "elements", "watermark", "left emits", "right emits"), self._rows()
            ),
        ]
        return "\n".join(lines)

    def _corrections(self) -> list[str]:
        upstream = self.scenario.corrected_by
        if upstream is None:
            return []
        return [f"of even sums over {upstream.windows}, retracting, emitted {describe(upstream.trigger)}"]

    def _rows(self) -> list[tuple[str, ...]]:
        left, right = (self.scenario.run_with(trigger) for trigger in (self.left, self.right))
        times = {instant.processing_time for instant in self.scenario.timeline}
        times |= {pane.processing_time for run in (left, right) for pane in run.panes}
        rows: list[tuple[str, ...]] = []
        for time in sorted(times):
            instants = [instant for instant in self.scenario.timeline if instant.processing_time == time]
            elements = [format_reading(reading) for instant in instants for reading in instant.elements]
            signals = [f"signal {signal}" for instant in instants for signal in in_order(instant.signals)]
            rows.append(
                (
                    format_time(time),
                    ", ".join(elements + signals),
                    format_time(instants[-1].watermark) if instants else "",
                    _emissions(left, time),
                    _emissions(right, time),
                )
            )
        return rows


@frozen
class NoDifference:
    """Two triggers that no tested scenario distinguishes: evidence of their equality, but not a proof."""

    left: Trigger
    right: Trigger
    tried: int

    def __str__(self) -> str:
        return f"no difference found in {self.tried} timelines"


def find_difference(
    left: Trigger, right: Trigger, *, timelines: int = 2000, among: SearchStrategy[Scenario] | None = None
) -> Difference | NoDifference:
    """Returns the smallest scenario found in which two triggers emit different panes or drops, or ``NoDifference``.

    ``timelines`` is the number of scenarios to test. ``among`` generates them; by default all windowing strategies and
    modes. The search is deterministic. Raises ``ArgumentError`` unless ``timelines`` is positive.
    """
    if isinstance(timelines, bool) or not isinstance(timelines, int) or timelines < 1:
        raise ArgumentError("timelines", timelines, "a positive int")
    tried = 0

    def differs(scenario: Scenario) -> bool:
        nonlocal tried
        tried += 1
        return observe(left, scenario) != observe(right, scenario)

    how = settings(
        max_examples=timelines,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    try:
        return Difference(left, right, find(scenarios() if among is None else among, differs, settings=how))
    except NoSuchExample:
        return NoDifference(left, right, tried)


def _emissions(run: ReferenceRun[KV[str, int]], time: ProcessingTime) -> str:
    panes = [_format_pane(pane) for pane in run.panes if pane.processing_time == time]
    return "; ".join(panes + [_format_drop(drop) for drop in run.dropped if drop.processing_time == time])


def _format_pane(pane: Pane[KV[str, int]]) -> str:
    sign = "retracts " if pane.change is Change.RETRACTION else ""
    last = ", last" if pane.is_last else ""
    window = f"[{format_time(pane.window.start)}, {format_time(pane.window.end)})"
    return f"{sign}{pane.key}={pane.value} {window} {pane.timing.value} {pane.index}{last}"


def _format_drop(drop: DroppedElement) -> str:
    return f"drops {drop.reason.value} {drop.element}"
