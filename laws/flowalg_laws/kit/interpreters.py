"""The interpreter that laws of runs are stated over, and the two modes of the reference interpreter."""

from __future__ import annotations

from typing import Final, TypeVar

import attrs
from attrs import evolve
from flowalg_reference import Reference, ReferenceRun

from flowalg import Interpreter, Mode, PCollection, Timeline
from flowalg.errors import UnsupportedError
from flowalg.runs import Instant
from flowalg.windows import WindowingStrategy
from flowalg_laws.kit.readings import Reading

B = TypeVar("B")


CONTINUOUS: Final = Reference(Mode.CONTINUOUS)
"""The reference interpreter, in which timers fire at their deadlines."""

MICRO_BATCH: Final = Reference(Mode.MICRO_BATCH)
"""The reference interpreter, in which timers fire at the next instant."""


def apply_windowing(collection: PCollection[B], strategy: WindowingStrategy) -> PCollection[B]:
    """Returns the collection in the windows of a strategy."""
    return collection.window(
        strategy.windows,
        trigger=strategy.trigger,
        accumulation=strategy.accumulation,
        allowed_lateness=strategy.allowed_lateness,
        timestamp_combiner=strategy.timestamp_combiner,
        on_time_behavior=strategy.on_time_behavior,
    )


def add_timer_instants(timeline: Timeline[Reading], run: ReferenceRun[object]) -> Timeline[Reading]:
    """Returns the timeline with an empty instant at each time at which timers fired in a run over it."""
    left = list(timeline)
    instants: list[Instant[Reading]] = []
    for reading in run.watermarks:
        if left and left[0].processing_time == reading.processing_time:
            instants.append(left.pop(0))
        else:
            quiet = evolve(instants[-1], elements=(), signals=frozenset())
            instants.append(evolve(quiet, processing_time=reading.processing_time))
    return Timeline(tuple(instants))


def with_dead_letters(interpreter: Interpreter) -> Interpreter:
    """Returns an interpreter with its field ``dead_letters`` set; raises ``UnsupportedError`` if it has none."""
    return _with_option(interpreter, "dead_letters")


def with_late_data(interpreter: Interpreter) -> Interpreter:
    """Returns an interpreter with its field ``late_data`` set; raises ``UnsupportedError`` if it has none."""
    return _with_option(interpreter, "late_data")


def _with_option(interpreter: Interpreter, name: str) -> Interpreter:
    kind: type = type(interpreter)
    if not attrs.has(kind) or name not in attrs.fields_dict(kind):
        raise UnsupportedError(f"{kind.__name__} must be an attrs class with a field {name}")
    changed: Interpreter = attrs.evolve(interpreter, **{name: True})  # type: ignore[misc]  # an attrs class
    return changed
