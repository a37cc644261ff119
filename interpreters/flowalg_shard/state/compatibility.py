"""Which changes of a stage its state can follow: that of a longer lateness, and of other numbers in its trigger.

What a stage is to its state is told in words, which are stored beside the state. Functions have no words: whether the
user's own are the same as before, nobody can tell.
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
from flowalg_shard.step.side_inputs import SideStage
from flowalg_shard.step.stage import Stage

TRIGGER: Final = "trigger"
SHAPE: Final = "shape of the trigger"
LATENESS: Final = "allowed lateness"
ON_TIME: Final = "on-time policy"

_FOR_EVER: Final = "for ever"
_NUMBER: Final = "…"


@frozen
class Description:
    """What a stage is to its state, in words by subject."""

    label: str
    facts: Mapping[str, str]

    def followed_by(self, now: Description) -> bool:
        """Whether the stage is still the same to its state; raises ``CheckpointError`` where the state cannot follow.

        If it is not the same, but can be followed, every window has to be looked at anew.
        """
        changed = {
            name: (self.facts.get(name, "nothing"), now.facts.get(name, "nothing"))
            for name in {**self.facts, **now.facts}
            if self.facts.get(name) != now.facts.get(name)
        }
        refused = [
            f"{name} was {before} and is now {after}"
            for name, (before, after) in changed.items()
            if not _can_follow(name, before, after)
        ]
        if refused:
            raise CheckpointError(
                f"stage {now.label!r}: the state in the checkpoint cannot follow a change of the pipeline: "
                f"{'; '.join(refused)}. It can follow a longer allowed lateness, another on-time policy and other "
                "numbers in the trigger; for anything else start with a new checkpoint"
            )
        return not changed


def _can_follow(name: str, before: str, after: str) -> bool:
    if name == LATENESS:
        return after == _FOR_EVER or (before != _FOR_EVER and int(before) <= int(after))
    return name in (TRIGGER, ON_TIME)


def description_of(stage: Stage | SideStage, elements: str) -> Description:
    """What a stage is to its state. ``elements`` says what its elements are."""
    if isinstance(stage, SideStage):
        facts = {"view": told(stage.view), "windows": _windows(stage)}
        return Description(stage.label, {"elements": elements, **facts})
    strategy = stage.strategy
    lateness = strategy.lateness_micros
    made_of = stage.aggregates if stage.combiner is None else stage.combiner
    return Description(
        stage.label,
        {
            "elements": elements,
            "windows": _windows(stage),
            "combiner": told(made_of),
            "accumulation mode": strategy.accumulation.value,
            "event time of panes": strategy.timestamp_combiner.value,
            SHAPE: told(strategy.trigger, numbers=False),
            TRIGGER: told(strategy.trigger),
            LATENESS: _FOR_EVER if lateness is None else str(lateness),
            ON_TIME: strategy.on_time_behavior.value,
        },
    )


def _windows(stage: Stage | SideStage) -> str:
    windows = stage.strategy.windows if isinstance(stage, Stage) else stage.windows
    return told(windows) if stage.fresh else "those of the grouping before"


def told(value: object, *, numbers: bool = True) -> str:
    """A value of the algebra in words, without its functions, and without its numbers if need be."""
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
            return ", ".join(told(one, numbers=numbers) for one in value)
        case _:
            return _parts(value, numbers=numbers)


def _parts(value: object, *, numbers: bool) -> str:
    kind = type(value)
    if not attrs.has(kind):
        return kind.__name__
    own = ((field.name, getattr(value, field.name)) for field in attrs.fields(kind))
    said = (
        f"{name}={told(one, numbers=numbers)}"
        for name, one in own
        if isinstance(one, Trigger) or not callable(one)
    )
    return f"{kind.__name__}({', '.join(said)})"


__all__ = ["Description", "description_of"]
