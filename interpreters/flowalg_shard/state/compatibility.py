"""State compatibility: whether the state of a stage can be continued after its pipeline has changed.

A stage is described by a few facts as text, which are stored with its state. Functions have no description, so whether
user-defined functions are still the same cannot be checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import Final

import attrs
from attrs import frozen

from flowalg.combiners.core import component_combiners
from flowalg.computations.library import state_shape
from flowalg.data.errors import CheckpointError
from flowalg.data.shapes import (
    EnumOf,
    ListOf,
    MapOf,
    MaybeOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
)
from flowalg.data.structure import structure, structure_of_value
from flowalg.triggers.syntax import Trigger
from flowalg_shard.clocks.exchange import FromSource, Upstream
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.side_inputs import SideStage

COMPUTATION: Final = "computation"
TRIGGER: Final = "trigger"
SHAPE: Final = "shape of the trigger"
LATENESS: Final = "allowed lateness"
ON_TIME: Final = "on-time policy"

_UNLIMITED: Final = "unlimited"
_NUMBER: Final = "…"


Inputs = tuple[tuple[str | int | None, ...], ...]
"""What flows into each input of a stage: the name of a source, or the number of a stage; ``None`` if it is unknown."""


class Outcome(Enum):
    """What becomes of the state of a stage when a changed pipeline starts from its checkpoint."""

    CONTINUES = "continues"
    CHANGES = "continues with changes"
    INCOMPATIBLE = "cannot continue"
    NEW = "is new and starts empty"
    REMOVED = "is removed with its state"


@frozen
class StageFinding:
    """What becomes of the state of the stage ``stage``, its label, and why.

    ``before`` is its number in the checkpoint, and ``now`` that in the pipeline; ``None`` where it is not.
    """

    stage: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    before: int | None = None
    now: int | None = None

    def __str__(self) -> str:
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return f"stage {self.stage!r} {self.outcome.value}{reasons}"


@frozen
class StageDescription:
    """The facts about a stage that its state depends on, as text by subject, and what flows into it.

    ``shards`` are the ids of the shards that keys are placed on, for engines that choose them, and ``placement`` is the
    name of the hash that does it. ``inputs``, ``shards`` and ``placement`` are ``None`` if they are not compared.
    """

    label: str
    facts: Mapping[str, str]
    inputs: Inputs | None = None
    shards: tuple[int, ...] | None = None
    placement: str | None = None

    def is_unchanged_in(self, now: StageDescription) -> bool:
        """Returns whether the stage is unchanged; raises ``CheckpointError`` if the state cannot be continued.

        After a compatible change every window must be evaluated again.
        """
        finding = compare_stages(self, now)
        require_continuable(finding)
        return finding.outcome is Outcome.CONTINUES


def compare_stages(before: StageDescription, now: StageDescription) -> StageFinding:
    """Returns whether a stage can continue from a state, given the description that is stored with it.

    Stages have the same numbers in both.
    """
    names = {**before.facts, **now.facts}
    changed = {name: (before.facts.get(name), now.facts.get(name)) for name in names}
    changed = {name: (old, new) for name, (old, new) in changed.items() if old != new}
    incompatible = [
        _change(name, old, new) for name, (old, new) in changed.items() if not _is_compatible(name, old, new)
    ]
    if before.inputs is not None and now.inputs is not None and before.inputs != now.inputs:
        incompatible.append(f"it read {_readable(before.inputs)} and now reads {_readable(now.inputs)}")
    if before.shards is not None and now.shards is not None and before.shards != now.shards:
        incompatible.append(
            f"its shards were {before.shards} and are now {now.shards}, since spark.sql.shuffle.partitions was another "
            "number when the query was compiled first; set that number again, or reshard the checkpoint"
        )
    if before.placement is not None and now.placement is not None and before.placement != now.placement:
        incompatible.append(
            f"its keys were placed on shards by the hash {before.placement!r} and are now by {now.placement!r}; "
            "continue with the version of flowalg that wrote the checkpoint, or reshard the checkpoint"
        )
    if incompatible:
        return StageFinding(now.label, Outcome.INCOMPATIBLE, tuple(incompatible))
    if not changed:
        return StageFinding(now.label, Outcome.CONTINUES)
    reasons = tuple(_change(name, old, new) for name, (old, new) in changed.items())
    return StageFinding(now.label, Outcome.CHANGES, reasons)


def require_continuable(finding: StageFinding) -> None:
    """Raises ``CheckpointError`` for a stage that cannot continue."""
    if finding.outcome is Outcome.INCOMPATIBLE:
        raise CheckpointError(
            f"stage {finding.stage!r}: the state in the checkpoint is incompatible with the changed pipeline: "
            f"{'; '.join(finding.reasons)}. {COMPATIBLE_CHANGES}"
        )


COMPATIBLE_CHANGES: Final = (
    "Compatible changes are a longer allowed lateness, another on-time policy and other numbers in the trigger; "
    "after any other change start with a new checkpoint"
)


def _is_compatible(name: str, before: str | None, after: str | None) -> bool:
    """Returns whether a fact may change; a stage that has a fact only before or after is of another kind."""
    if before is None or after is None:
        return False
    if name == LATENESS:
        return after == _UNLIMITED or (before != _UNLIMITED and int(before) <= int(after))
    return name in (TRIGGER, ON_TIME)


def _change(name: str, before: str | None, after: str | None) -> str:
    return f"{name} was {_shown(name, before)} and is now {_shown(name, after)}"


def _shown(name: str, fact: str | None) -> str:
    """Returns a fact for people: a lateness is stored as microseconds."""
    text = fact or "nothing"
    return str(timedelta(microseconds=int(text))) if name == LATENESS and text.isdecimal() else text


def _readable(inputs: Inputs) -> str:
    """Returns what flows into a stage, for people."""
    return " and ".join(", ".join(map(_upstream, upstreams)) for upstreams in inputs)


def _upstream(upstream: str | int | None) -> str:
    match upstream:
        case str():
            return f"source {upstream!r}"
        case None:
            return "another stage"
        case _ if upstream < 0:
            return "a removed stage"
        case _:
            return f"stage {upstream}"


def _inputs(inputs: Sequence[Sequence[Upstream]] | None) -> Inputs | None:
    if inputs is None:
        return None
    return tuple(
        tuple(
            upstream.name if isinstance(upstream, FromSource) else upstream.number for upstream in upstreams
        )
        for upstreams in inputs
    )


def describe_side(
    stage: SideStage, main: Shape, side: Shape, inputs: Sequence[Sequence[Upstream]] | None = None
) -> StageDescription:
    """Returns the facts about a side input that its state depends on: its values, and the elements that wait for it."""
    facts = {
        "elements": structure(main),
        "side": structure(side),
        "view": describe(stage.view),
        "windows": _windows(stage),
    }
    if stage.lateness is not None:
        facts["lateness of the elements that read it"] = describe(stage.lateness)
    return StageDescription(stage.label, facts, _inputs(inputs))


def describe_stage(
    stage: Stage, pair: Shape, values: Sequence[Shape], inputs: Sequence[Sequence[Upstream]] | None = None
) -> StageDescription:
    """Returns the facts about a grouping that its state depends on.

    ``pair`` is the type of its keys and results, and ``values`` that of the values of each input, which matters where
    values are kept as they are. Aggregates over columns know the types of their arguments.
    """
    strategy = stage.strategy
    lateness = strategy.lateness_micros
    joined = () if stage.join is None else (stage.join,)
    combiner = (*stage.aggregates, *joined) if stage.combiner is None else stage.combiner
    keeps_values = stage.combiner is not None or stage.automaton.accumulates
    parts = () if stage.combiner is None else component_combiners(stage.combiner)
    return StageDescription(
        stage.label,
        {
            "keys and results": structure(pair),
            "values": " and ".join(map(structure, values)) if keeps_values else "in columns",
            "windows": _windows(stage),
            "combiner": describe(combiner),
            "accumulators": ", ".join(structure_of_value(part.zero()) for part in parts)
            or ("values in columns" if stage.keeps_values else "in columns"),
            "accumulation mode": strategy.mode.value,
            "event time of panes": strategy.timestamp_combiner.value,
            SHAPE: describe(strategy.trigger, numbers=False),
            TRIGGER: describe(strategy.trigger),
            LATENESS: _UNLIMITED if lateness is None else str(lateness),
            ON_TIME: strategy.on_time_behavior.value,
        },
        _inputs(inputs),
    )


def describe_computation(
    stage: ComputationStage, pair: Shape, inputs: Sequence[Sequence[Upstream]] | None = None
) -> StageDescription:
    """Returns the facts about a computation that its state depends on.

    ``pair`` is the type of its elements, whose values are in the state only while they wait for the watermark.
    """
    assert isinstance(pair, RecordOf), "a computation has keyed elements"
    key, value = (field.shape for field in pair.fields)
    state = state_shape(stage.computation, value)
    facts = {
        "elements": f"KV[{structure(key)}, {structure(value) if stage.in_order else value}]",
        "order": "event time" if stage.in_order else "arrival",
        "late elements": stage.late.value,
        "type of the state": "unknown" if state is None else structure(state),
        COMPUTATION: describe(stage.computation),
    }
    return StageDescription(stage.label, facts, _inputs(inputs))


def describe_output(label: str, elements: Shape, inputs: Sequence[Sequence[Upstream]]) -> StageDescription:
    """Returns the facts about an output of elements, whose only state is its clocks."""
    return StageDescription(label, {"elements": str(elements)}, _inputs(inputs))


def _windows(stage: Stage | SideStage) -> str:
    if not stage.fresh:
        return "those of the grouping before"
    if isinstance(stage, SideStage):
        return describe(stage.windows)
    return f"{describe(stage.strategy.windows)}{', of corrected elements' if stage.unmerges else ''}"


def describe(value: object, *, numbers: bool = True) -> str:
    """Returns a value of the algebra as text, without its functions, and without its numbers unless ``numbers``."""
    match value:
        case Enum():
            return value.name
        case bool() | str() | None:
            return repr(value)
        case int() | float():
            return repr(value) if numbers else _NUMBER
        case timedelta():
            return str(value) if numbers else _NUMBER
        case (
            Scalar()
            | EnumOf()
            | OptionalOf()
            | MaybeOf()
            | ListOf()
            | SetOf()
            | MapOf()
            | TupleOf()
            | RecordOf()
            | SumOf()
        ):
            return structure(value)
        case tuple():
            return ", ".join(describe(part, numbers=numbers) for part in value)
        case _:
            return _describe_fields(value, numbers=numbers)


def _describe_fields(value: object, *, numbers: bool) -> str:
    """Returns an object with its fields, without those that its representation leaves out since others imply them."""
    kind = type(value)
    if not attrs.has(kind):
        return kind.__name__
    fields = (
        (field.name, getattr(value, field.name))
        for field in attrs.fields(kind)
        if field.repr or not field.init
    )
    described = (
        f"{name}={describe(field_value, numbers=numbers)}"
        for name, field_value in fields
        if isinstance(field_value, Trigger) or not callable(field_value)
    )
    return f"{kind.__name__}({', '.join(described)})"
