"""State compatibility: whether the state of a stage can be continued after its pipeline has changed.

A stage is described by a few facts as text, which are stored with its state. Functions have no description, so whether
user-defined functions are still the same cannot be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Final

import attrs
from attrs import frozen

from flowalg.data.errors import CheckpointError
from flowalg.triggers.syntax import Trigger
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.step.side_inputs import SideStage
from flowalg_shard.step.stage import Stage

COMPUTATION: Final = "computation"
TRIGGER: Final = "trigger"
SHAPE: Final = "shape of the trigger"
LATENESS: Final = "allowed lateness"
ON_TIME: Final = "on-time policy"

_UNLIMITED: Final = "unlimited"
_NUMBER: Final = "…"


@frozen
class StageDescription:
    """The facts about a stage that its state depends on, as text by subject."""

    label: str
    facts: Mapping[str, str]

    def is_unchanged_in(self, now: StageDescription) -> bool:
        """Whether the stage is unchanged; raises ``CheckpointError`` if the state cannot be continued.

        After a compatible change every window must be evaluated again.
        """
        changed = {
            name: (self.facts.get(name, "nothing"), now.facts.get(name, "nothing"))
            for name in {**self.facts, **now.facts}
            if self.facts.get(name) != now.facts.get(name)
        }
        incompatible = [
            f"{name} was {before} and is now {after}"
            for name, (before, after) in changed.items()
            if not _is_compatible(name, before, after)
        ]
        if incompatible:
            raise CheckpointError(
                f"stage {now.label!r}: the state in the checkpoint is incompatible with the changed pipeline: "
                f"{'; '.join(incompatible)}. Compatible changes are a longer allowed lateness, another on-time policy "
                "and other numbers in the trigger; after any other change start with a new checkpoint"
            )
        return not changed


def _is_compatible(name: str, before: str, after: str) -> bool:
    if name == LATENESS:
        return after == _UNLIMITED or (before != _UNLIMITED and int(before) <= int(after))
    return name in (TRIGGER, ON_TIME)


def describe_stage(stage: Stage | SideStage, elements: str) -> StageDescription:
    """The facts about a stage that its state depends on. ``elements`` describes its elements."""
    if isinstance(stage, SideStage):
        facts = {"elements": elements, "view": describe(stage.view), "windows": _windows(stage)}
        if stage.lateness is not None:
            facts["lateness of the elements that read it"] = describe(stage.lateness)
        return StageDescription(stage.label, facts)
    strategy = stage.strategy
    lateness = strategy.lateness_micros
    combiner = stage.aggregates if stage.combiner is None else stage.combiner
    return StageDescription(
        stage.label,
        {
            "elements": elements,
            "windows": _windows(stage),
            "combiner": describe(combiner),
            "accumulation mode": strategy.mode.value,
            "event time of panes": strategy.timestamp_combiner.value,
            SHAPE: describe(strategy.trigger, numbers=False),
            TRIGGER: describe(strategy.trigger),
            LATENESS: _UNLIMITED if lateness is None else str(lateness),
            ON_TIME: strategy.on_time_behavior.value,
        },
    )


def describe_computation(stage: ComputationStage, elements: str) -> StageDescription:
    """The facts about a computation that its state depends on, as ``describe_stage`` has them."""
    order, state = "event time" if stage.in_order else "arrival", stage.computation.state_shape
    facts = {
        "elements": elements,
        "order": order,
        "late elements": stage.late.value,
        "type of the state": "unknown" if state is None else str(state),
        COMPUTATION: describe(stage.computation),
    }
    return StageDescription(stage.label, facts)


def _windows(stage: Stage | SideStage) -> str:
    if not stage.fresh:
        return "those of the grouping before"
    if isinstance(stage, SideStage):
        return describe(stage.windows)
    return f"{describe(stage.strategy.windows)}{', of corrected elements' if stage.unmerges else ''}"


def describe(value: object, *, numbers: bool = True) -> str:
    """A value of the algebra as text, without its functions, and without its numbers unless ``numbers``."""
    match value:
        case Enum():
            return value.name
        case bool() | str() | None:
            return repr(value)
        case int() | float():
            return repr(value) if numbers else _NUMBER
        case timedelta():
            return str(value) if numbers else _NUMBER
        case tuple():
            return ", ".join(describe(each, numbers=numbers) for each in value)
        case _:
            return _describe_fields(value, numbers=numbers)


def _describe_fields(value: object, *, numbers: bool) -> str:
    kind = type(value)
    if not attrs.has(kind):
        return kind.__name__
    fields = ((field.name, getattr(value, field.name)) for field in attrs.fields(kind))
    described = (
        f"{name}={describe(each, numbers=numbers)}"
        for name, each in fields
        if isinstance(each, Trigger) or not callable(each)
    )
    return f"{kind.__name__}({', '.join(described)})"


__all__ = ["StageDescription", "describe_computation", "describe_stage"]
