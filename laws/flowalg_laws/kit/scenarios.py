"""Scenarios in which two triggers are compared: all inputs of a run except the trigger."""

from __future__ import annotations

from attrs import evolve, frozen
from flowalg_reference import ReferenceRun
from flowalg_reference import run as reference_run

from flowalg import KV, Accumulation, Mode, Pane, Sum, Timeline
from flowalg.runs import DroppedElement
from flowalg.triggers import Trigger
from flowalg.windows import WindowingStrategy
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading


@frozen
class Scenario:
    """A windowing strategy (its trigger is ignored), a timeline, and a mode of the interpreter.

    With ``corrected_by`` the elements are the even sums of windows of that strategy, whose panes are retracted. A sum
    that becomes odd is retracted without a new value.
    """

    windowing: WindowingStrategy
    timeline: Timeline[Reading]
    mode: Mode = Mode.CONTINUOUS
    corrected_by: WindowingStrategy | None = None

    def run_with(self, trigger: Trigger) -> ReferenceRun[KV[str, int]]:
        """Runs a sum per key and window with a trigger."""
        elements = VALUES
        if self.corrected_by is not None:
            corrected = evolve(self.corrected_by, accumulation=Accumulation.RETRACTING)
            sums = apply_windowing(VALUES, corrected).combine_per_key(Sum())
            elements = sums.filter(lambda pair: pair.value % 2 == 0)
        summed = apply_windowing(elements, evolve(self.windowing, trigger=trigger)).combine_per_key(Sum())
        return reference_run(summed, {READINGS: self.timeline}, mode=self.mode)


Observed = tuple[tuple[Pane[KV[str, int]], ...], tuple[DroppedElement, ...]]


def observe(trigger: Trigger, scenario: Scenario) -> Observed:
    """Returns everything that is observable of a trigger in a scenario: the panes in order, and the drops."""
    run = scenario.run_with(trigger)
    return run.panes, run.dropped
