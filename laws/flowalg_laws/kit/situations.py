"""Where two triggers are compared: everything that a run depends on but the trigger."""

from __future__ import annotations

from attrs import evolve, frozen
from flowalg_reference import DroppedElement, ReferenceRun
from flowalg_reference import run as reference_run

from flowalg import KV, Mode, Pane, Sum, Timeline, Trigger, WindowingStrategy
from flowalg_laws.kit.interpreters import put_into
from flowalg_laws.kit.readings import READINGS, VALUES, Reading


@frozen
class Situation:
    """Windows, mode, lateness and the like (the trigger of ``windowing`` is ignored), a timeline, and an engine."""

    windowing: WindowingStrategy
    timeline: Timeline[Reading]
    mode: Mode = Mode.CONTINUOUS

    def under(self, trigger: Trigger) -> ReferenceRun[KV[str, int]]:
        """What a sum per key and window does under a trigger."""
        summed = put_into(VALUES, evolve(self.windowing, trigger=trigger)).combine_per_key(Sum())
        return reference_run(summed, {READINGS: self.timeline}, mode=self.mode)


Observed = tuple[tuple[Pane[KV[str, int]], ...], tuple[DroppedElement, ...]]


def observed(trigger: Trigger, situation: Situation) -> Observed:
    """All that can be seen of a trigger in a situation: panes, in order, and drops."""
    run = situation.under(trigger)
    return run.panes, run.dropped


__all__ = ["Observed", "Situation", "observed"]
