"""Observational equality: two triggers are equal if no situation tells them apart.

``find_difference`` looks for the smallest situation that does, and draws it as a table.
"""

from __future__ import annotations

from datetime import timedelta

from attrs import frozen
from flowalg_reference import DroppedElement, ReferenceRun
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from flowalg import KV, Change, Pane, ProcessingTime, Trigger, describe
from flowalg.data.errors import ArgumentError
from flowalg_laws.kit.drawing import clock, element, table
from flowalg_laws.kit.situations import Situation, observed
from flowalg_laws.strategies import situations


@frozen
class Difference:
    """A situation in which two triggers do not say the same."""

    left: Trigger
    right: Trigger
    situation: Situation

    def __str__(self) -> str:
        windowing = self.situation.windowing
        lateness = windowing.allowed_lateness
        lines = [
            f"left:  {describe(self.left)}",
            f"right: {describe(self.right)}",
            f"over {windowing.windows}, {windowing.accumulation.name.lower()}, lateness "
            f"{lateness if isinstance(lateness, timedelta) else 'without end'}, {self.situation.mode.value} engine",
            "",
            *table(("seen at", "elements", "watermark", "left says", "right says"), self._rows()),
        ]
        return "\n".join(lines)

    def _rows(self) -> list[tuple[str, ...]]:
        one, other = (self.situation.under(trigger) for trigger in (self.left, self.right))
        times = {instant.processing_time for instant in self.situation.timeline}
        times |= {pane.processing_time for run in (one, other) for pane in run.panes}
        rows: list[tuple[str, ...]] = []
        for time in sorted(times):
            instants = [one for one in self.situation.timeline if one.processing_time == time]
            elements = [element(reading) for instant in instants for reading in instant.elements]
            signals = [f"signal {name}" for instant in instants for name in sorted(instant.signals)]
            rows.append(
                (
                    clock(time),
                    ", ".join(elements + signals),
                    clock(instants[-1].watermark) if instants else "",
                    _said(one, time),
                    _said(other, time),
                )
            )
        return rows


@frozen
class NoDifference:
    """Two triggers that no tried situation told apart: no proof, but evidence."""

    left: Trigger
    right: Trigger
    tried: int

    def __str__(self) -> str:
        return f"none found in {self.tried} timelines"


def find_difference(
    left: Trigger, right: Trigger, *, timelines: int = 2000, among: SearchStrategy[Situation] | None = None
) -> Difference | NoDifference:
    """The smallest situation found in which two triggers give other panes or drops, or that there was none.

    ``timelines`` is how many situations are tried; ``among`` generates them, and defaults to every windowing strategy,
    mode and engine. The search is the same each time. Raises ``ArgumentError`` unless ``timelines`` is positive.
    """
    if isinstance(timelines, bool) or not isinstance(timelines, int) or timelines < 1:
        raise ArgumentError("timelines", timelines, "a positive int")
    tried = 0

    def differs(situation: Situation) -> bool:
        nonlocal tried
        tried += 1
        return observed(left, situation) != observed(right, situation)

    how = settings(
        max_examples=timelines,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    try:
        return Difference(left, right, find(situations() if among is None else among, differs, settings=how))
    except NoSuchExample:
        return NoDifference(left, right, tried)


def _said(run: ReferenceRun[KV[str, int]], time: ProcessingTime) -> str:
    panes = [_pane(pane) for pane in run.panes if pane.processing_time == time]
    return "; ".join(panes + [_drop(drop) for drop in run.dropped if drop.processing_time == time])


def _pane(pane: Pane[KV[str, int]]) -> str:
    sign = "not " if pane.change is Change.RETRACTION else ""
    last = ", last" if pane.is_last else ""
    window = f"[{clock(pane.window.start)}, {clock(pane.window.end)})"
    return f"{sign}{pane.key}={pane.value} {window} {pane.timing.value} {pane.index}{last}"


def _drop(drop: DroppedElement) -> str:
    return f"drops {drop.reason.value} {drop.element}"


__all__ = ["Difference", "NoDifference", "find_difference"]
