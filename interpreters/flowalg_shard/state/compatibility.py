"""State compatibility: whether the state of a stage can be continued after its pipeline has changed.

A stage is described by a few facts as text, which are stored with its state. Functions have no description, so whether
user-defined functions are still the same cannot be checked.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import Final

import attrs
from attrs import evolve, field, frozen

from flowalg.combiners.collections import ToList, ToSet
from flowalg.combiners.core import component_combiners
from flowalg.computations.library import state_shape
from flowalg.data.class_marks import class_named
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
from flowalg.evolution.changes import (
    SAME,
    Evolution,
    NoEvolutionError,
    evolution,
    evolution_of_class,
    is_injective,
    is_of_classes,
    keeps_hash,
    keeps_order,
)
from flowalg.evolution.documents import classes_of
from flowalg.evolution.structure import Structure, outline, structure_of, structure_of_class
from flowalg.triggers.syntax import Trigger
from flowalg.windows.strategy import Accumulation
from flowalg_shard.clocks.exchange import FromSource, Upstream
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.contents.stage import AggregateColumn, Stage
from flowalg_shard.step.shard_state import retracts
from flowalg_shard.step.side_inputs import SideStage

COMPUTATION: Final = "computation"
TRIGGER: Final = "trigger"
SHAPE: Final = "shape of the trigger"
LATENESS: Final = "allowed lateness"
ON_TIME: Final = "on-time policy"
MODE: Final = "accumulation mode"

KEYS: Final = "keys"
VALUES: Final = "values"
STATE: Final = "type of the state"
ELEMENTS: Final = "elements that wait"
SIDE: Final = "values of the side input"
COUNT: Final = "Count()"
COUNTING: Final = ("Count()", "Mean()", "ToList()")
"""The descriptions of combiners, and the beginnings of those that know how many elements there were."""

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


class Limit(Enum):
    """What evolutions of values must keep, for what a stage does with them."""

    NOTHING = ""
    DIFFERENCE = "different values must stay different"
    ORDER = "values that are compared must keep their order"
    HASH = "keys must keep their hashes, by which they are placed: their fields may have other names, and be missing"
    CLASSES = "they are kept as objects, of which only record classes may change"


@frozen
class Held:
    """The shape of values that a state has, what their evolutions must keep, and whether they are kept as objects."""

    shape: Shape
    limit: Limit = Limit.NOTHING
    objects: bool = False

    def evolution(self, before: Structure, where: str) -> Evolution:
        """Returns the evolution of the values; raises ``NoEvolutionError`` if there is none within the limit.

        Records are named by their class in messages, and other values by ``where``.
        """
        change = evolution(before, self.shape, "" if isinstance(self.shape, RecordOf) else where)
        if _KEEPS[self.limit](change):
            return change
        raise NoEvolutionError([self.limit.value])


_KEEPS: Final[Mapping[Limit, Callable[[Evolution], bool]]] = {
    Limit.NOTHING: lambda change: True,
    Limit.DIFFERENCE: is_injective,
    Limit.ORDER: keeps_order,
    Limit.HASH: keeps_hash,
    Limit.CLASSES: is_of_classes,
}


@frozen
class StageDescription:
    """The facts about a stage that its state depends on, as text by subject, and what flows into it.

    ``name`` is that of the stage in its plan, which no other stage has. ``holds`` are the values that the state has, by
    subject, and ``combiners`` the aggregates in columns; the argument of one has its number as subject. A checkpoint
    has the structures of the values (``stored``), which are ``types``, and those of the classes whose objects the state
    has as they are. ``counts`` is whether the state has the number of elements of each window, and ``rigid`` why it
    cannot be converted, if it cannot. ``shards`` are the ids of the shards that keys are placed on, for engines that
    choose them, and ``placement`` is the name of the hash that does it. ``inputs``, ``shards`` and ``placement`` are
    ``None`` if they are not compared.
    """

    label: str
    facts: Mapping[str, str]
    inputs: Inputs | None = None
    shards: tuple[int, ...] | None = None
    placement: str | None = None
    combiners: tuple[str, ...] = ()
    types: Mapping[str, Structure] = field(factory=dict)
    classes: Mapping[str, Structure] = field(factory=dict)
    name: str = ""
    holds: Mapping[str, Held] = field(factory=dict)
    counts: bool = False
    rigid: str | None = None

    def stored(self, classes: Mapping[str, Structure]) -> StageDescription:
        """Returns the description as a checkpoint has it, of a state with objects of some classes."""
        types = {name: structure_of(held.shape) for name, held in self.holds.items()}
        of_shapes = (classes_of(held.shape) for held in self.holds.values() if held.objects)
        return evolve(
            self,
            types={**self.types, **types},
            classes={**self.classes, **ChainMap(*of_shapes), **classes},
            holds={},
            rigid=None,
            counts=False,
        )


def compare_stages(before: StageDescription, now: StageDescription) -> StageFinding:
    """Returns whether a stage can continue from a state, given the description that is stored with it.

    Stages have the same numbers in both.
    """
    return change_of_stage(before, now).finding


@frozen
class StageChange:
    """What becomes of the state of a stage: the changes in words, and the reasons against it, if there are some.

    ``before`` is the description that is stored with the state, and ``now`` that of the stage. ``values`` are the
    evolutions of values by subject, and ``objects`` those of objects by the name of their class. ``kept`` has, for each
    aggregate, its number before; ``None`` for a new one. With ``resets`` the triggers of all windows begin again.
    ``realigns`` is whether the aggregates are others than before.
    """

    before: StageDescription
    now: StageDescription
    changes: tuple[str, ...]
    reasons: tuple[str, ...]
    values: Mapping[str, Evolution]
    objects: Mapping[str, Evolution]
    kept: tuple[int | None, ...]
    realigns: bool
    resets: bool

    @property
    def converts(self) -> bool:
        """Whether the stored tables change."""
        return bool(self.values or self.objects) or self.resets or self.realigns

    @property
    def finding(self) -> StageFinding:
        """What becomes of the state, for people."""
        if self.reasons:
            return StageFinding(self.now.label, Outcome.INCOMPATIBLE, self.reasons)
        return StageFinding(
            self.now.label, Outcome.CHANGES if self.changes else Outcome.CONTINUES, self.changes
        )

    def require_possible(self) -> None:
        """Raises ``CheckpointError`` if there are reasons against it."""
        require_continuable(self.finding)


def change_of_stage(before: StageDescription, now: StageDescription) -> StageChange:
    """Returns what becomes of the state of a stage, given the description that is stored with it."""
    changes, reasons = _compare_facts(before, now)
    reasons += _compare_places(before, now)
    kept: tuple[int | None, ...] = ()
    try:
        kept = _align(before, now)
        changes += _combined(before, now, kept)
    except NoEvolutionError as error:
        reasons += error.reasons
    values: dict[str, Evolution] = {}
    for subject, held in now.holds.items():
        old = before.types.get(_subject_before(subject, kept))
        if old is None or old == structure_of(held.shape):
            continue
        what = f"{_named(subject, now)} was {old} and is now {structure_of(held.shape)}"
        try:
            values[subject] = held.evolution(old, _named(subject, now))
            changes.append(what)
        except NoEvolutionError as error:
            reasons += [reason if str(old) in reason else f"{what}: {reason}" for reason in error.reasons]
    objects, of_objects = _objects(before, reasons)
    realigns = kept != tuple(range(len(before.combiners)))
    resets = SHAPE in now.facts and before.facts.get(SHAPE) != now.facts[SHAPE]
    change = StageChange(
        before,
        now,
        _distinct((*changes, *of_objects)),
        _distinct(reasons),
        values,
        objects,
        kept,
        realigns,
        resets,
    )
    if change.converts and now.rigid is not None and not reasons:
        return evolve(change, reasons=(*change.changes, now.rigid))
    return change


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _objects(before: StageDescription, reasons: list[str]) -> tuple[dict[str, Evolution], list[str]]:
    """Returns the evolutions of objects by their classes, and the changes in words; adds the reasons against them."""
    objects, changes = dict[str, Evolution](), list[str]()
    for name, structure in before.classes.items():
        try:
            change = evolution_of_class(name, structure)
        except NoEvolutionError as error:
            reasons += error.reasons
            continue
        if change != SAME:
            objects[name] = change
            cls = class_named(name)
            now = structure if cls is None else structure_of_class(cls)
            changes.append(f"{structure} is now {now}")
    return objects, changes


def _align(before: StageDescription, now: StageDescription) -> tuple[int | None, ...]:
    """Returns the number that each aggregate had before, ``None`` for a new one.

    Raises ``NoEvolutionError`` if it is ambiguous which of them continue.
    """
    old, new = before.combiners, now.combiners
    if old == new:
        return tuple(range(len(new)))
    gone, added = (set(one) - set(other) for one, other in ((old, new), (new, old)))
    both = [[name for name in names if name not in gone | added] for names in (old, new)]
    if both[0] == both[1]:
        positions = iter(number for number, name in enumerate(old) if name not in gone)
        return tuple(None if name in added else next(positions) for name in new)
    if len(set(old)) == len(old) and len(set(new)) == len(new):
        return tuple(old.index(name) if name in old else None for name in new)
    raise NoEvolutionError(
        [f"{_combiners_were(before, now)}: it is ambiguous which of them continue; change one at a time"]
    )


def _combined(before: StageDescription, now: StageDescription, kept: Sequence[int | None]) -> list[str]:
    """Returns the changes of aggregates; raises ``NoEvolutionError`` for new ones that do not follow from others."""
    if before.combiners == now.combiners:
        return []
    what = _combiners_were(before, now)
    for number, known in enumerate(kept):
        if known is None and not (
            now.combiners[number] == COUNT
            and (now.counts or count_source(before.combiners, kept) is not None)
        ):
            raise NoEvolutionError(
                [
                    f"{what}: the state does not have what {now.combiners[number]} would have of earlier elements; add "
                    "it as an output of its own, which starts empty, or start with a new checkpoint"
                ]
            )
        if known is None and now.facts.get(MODE) == Accumulation.RETRACTING.value:
            raise NoEvolutionError(
                [f"{what}: the panes that may be retracted do not have {now.combiners[number]}"]
            )
    return [what]


def _combiners_were(before: StageDescription, now: StageDescription) -> str:
    return f"the combiners were {', '.join(before.combiners)} and are now {', '.join(now.combiners)}"


def require_unchanged(before: StageDescription, now: StageDescription) -> None:
    """Raises ``CheckpointError`` unless a stage reads a state as it is, without a conversion."""
    change = change_of_stage(before, now)
    reasons = change.reasons or (change.changes if change.converts else ())
    if reasons:
        require_continuable(StageFinding(now.label, Outcome.INCOMPATIBLE, reasons))


def count_source(combiners: Sequence[str], kept: Sequence[int | None]) -> int | None:
    """Returns the number of an aggregate that knows how many elements there were, and is kept; ``None`` without one."""
    numbers = (number for number in kept if number is not None)
    return next((number for number in numbers if combiners[number].startswith(COUNTING)), None)


def _subject_before(subject: str, kept: Sequence[int | None]) -> str:
    """Returns the subject in the checkpoint of a subject: arguments of aggregates have their numbers."""
    if not subject.isdecimal() or not int(subject) < len(kept):
        return subject
    return str(kept[int(subject)])


def _named(subject: str, now: StageDescription) -> str:
    return f"what {now.combiners[int(subject)]} reads" if subject.isdecimal() and now.combiners else subject


def _compare_facts(before: StageDescription, now: StageDescription) -> tuple[list[str], list[str]]:
    """Returns the facts that may change and have, and those that have and may not."""
    changes, reasons = list[str](), list[str]()
    for name in {**before.facts, **now.facts}:
        old, new = before.facts.get(name), now.facts.get(name)
        if old != new and name != SHAPE:
            (changes if _is_compatible(name, old, new) else reasons).append(_change(name, old, new))
    return changes, reasons


def _compare_places(before: StageDescription, now: StageDescription) -> list[str]:
    """Returns the reasons of what flows into the stage, and of where its keys are."""
    reasons: list[str] = []
    if before.inputs is not None and now.inputs is not None and before.inputs != now.inputs:
        reasons.append(f"it read {_readable(before.inputs)} and now reads {_readable(now.inputs)}")
    if before.shards is not None and now.shards is not None and before.shards != now.shards:
        reasons.append(
            f"its shards were {before.shards} and are now {now.shards}, since spark.sql.shuffle.partitions was another "
            "number when the query was compiled first; set that number again, or reshard the checkpoint"
        )
    if before.placement is not None and now.placement is not None and before.placement != now.placement:
        reasons.append(
            f"its keys were placed on shards by the hash {before.placement!r} and are now by {now.placement!r}; "
            "continue with the version of flowalg that wrote the checkpoint, or reshard the checkpoint"
        )
    return reasons


def require_continuable(finding: StageFinding) -> None:
    """Raises ``CheckpointError`` for a stage that cannot continue."""
    if finding.outcome is Outcome.INCOMPATIBLE:
        raise CheckpointError(
            f"stage {finding.stage!r}: the state in the checkpoint is incompatible with the changed pipeline: "
            f"{'; '.join(finding.reasons)}. {COMPATIBLE_CHANGES}"
        )


COMPATIBLE_CHANGES: Final = (
    "Compatible changes are a longer allowed lateness, another on-time policy, another trigger, and evolutions of "
    "types (docs/state.md); after any other change start with a new checkpoint"
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
    facts = {"view": describe(stage.view), "windows": _windows(stage)}
    if stage.lateness is not None:
        facts["lateness of the elements that read it"] = describe(stage.lateness)
    holds = {ELEMENTS: Held(main), SIDE: Held(side, objects=True)}
    return StageDescription(stage.label, facts, _inputs(inputs), holds=holds)


def describe_stage(
    stage: Stage, pair: RecordOf, values: Sequence[Shape], inputs: Sequence[Sequence[Upstream]] | None = None
) -> StageDescription:
    """Returns the facts about a grouping that its state depends on.

    ``pair`` is the type of its keys and results, and ``values`` that of the values of each input, which matters where
    values are kept as they are. Aggregates over columns know the types of their arguments.
    """
    strategy = stage.strategy
    lateness = strategy.lateness_micros
    facts = {
        "windows": _windows(stage),
        MODE: strategy.mode.value,
        "event time of panes": strategy.timestamp_combiner.value,
        SHAPE: describe(strategy.trigger, numbers=False),
        TRIGGER: describe(strategy.trigger),
        LATENESS: _UNLIMITED if lateness is None else str(lateness),
        ON_TIME: strategy.on_time_behavior.value,
    }
    key, result = (part.shape for part in pair.fields)
    holds = {KEYS: Held(key, Limit.HASH)}
    if stage.automaton.accumulates or stage.combiner is not None:
        holds |= {
            f"values of input {number}": Held(value, Limit.CLASSES, objects=True)
            for number, value in enumerate(values)
        }
    if stage.combiner is not None:
        facts["combiner"] = describe(stage.combiner)
        facts["accumulators"] = ", ".join(
            outline(part.zero()) for part in component_combiners(stage.combiner)
        )
        if retracts(stage):
            holds["results"] = Held(result, Limit.CLASSES, objects=True)
    else:
        facts["combiner"] = "in columns" if stage.join is None else describe(stage.join)
        facts["contents"] = "values" if stage.keeps_values else "accumulators"
    if stage.keeps_values and not _is_co_group(stage):
        holds[VALUES] = Held(values[0], Limit.DIFFERENCE)
    holds |= {
        str(number): Held(column.shape, _limit(column))
        for number, column in enumerate(stage.aggregates)
        if column.shape is not None
    }
    return StageDescription(
        stage.label,
        facts,
        _inputs(inputs),
        combiners=tuple(describe(column.combiner) for column in stage.aggregates),
        holds=holds,
        counts=stage.retractions,
        rigid="the windows merge and come apart, so their state cannot be converted"
        if stage.unmerges
        else None,
    )


def _is_co_group(stage: Stage) -> bool:
    return any(column.side is not None for column in stage.aggregates)


def _limit(column: AggregateColumn) -> Limit:
    """Returns what evolutions of the argument of an aggregate must keep."""
    match column.combiner:
        case ToList():
            return Limit.NOTHING
        case ToSet():
            return Limit.DIFFERENCE
        case _:
            return Limit.ORDER


def describe_computation(
    stage: ComputationStage, pair: Shape, inputs: Sequence[Sequence[Upstream]] | None = None
) -> StageDescription:
    """Returns the facts about a computation that its state depends on.

    ``pair`` is the type of its elements, whose values are in the state only while they wait for the watermark.
    """
    assert isinstance(pair, RecordOf), "a computation has keyed elements"
    key, value = (part.shape for part in pair.fields)
    state = state_shape(stage.computation, value)
    facts = {
        "order": "event time" if stage.in_order else "arrival",
        "late elements": stage.late.value,
        "state": _kind_of_state(stage, state),
        COMPUTATION: _describe_fields(stage.computation, numbers=True, without=("initial",)),
    }
    holds = {KEYS: Held(key, Limit.HASH)}
    if stage.in_order:
        holds[ELEMENTS] = Held(value)
    if state is not None:
        holds[STATE] = Held(state)
    rigid = "its states are pickled, so they cannot be converted" if stage.computation.pickled_state else None
    return StageDescription(stage.label, facts, _inputs(inputs), holds=holds, rigid=rigid)


def _kind_of_state(stage: ComputationStage, state: Shape | None) -> str:
    if stage.computation.pickled_state:
        return "pickled"
    return "of unknown type" if state is None else "of known type"


def describe_output(label: str, inputs: Sequence[Sequence[Upstream]]) -> StageDescription:
    """Returns the facts about an output of elements, whose only state is its clocks."""
    return StageDescription(label, {"output": "elements"}, _inputs(inputs))


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
            return str(structure_of(value))
        case tuple():
            return ", ".join(describe(part, numbers=numbers) for part in value)
        case _:
            return _describe_fields(value, numbers=numbers)


def _describe_fields(value: object, *, numbers: bool, without: Sequence[str] = ()) -> str:
    """Returns an object with its fields, without those that its representation leaves out since others imply them."""
    kind = type(value)
    if not attrs.has(kind):
        return kind.__name__
    fields = (
        (field.name, getattr(value, field.name))
        for field in attrs.fields(kind)
        if (field.repr or not field.init) and field.name not in without
    )
    described = (
        f"{name}={describe(field_value, numbers=numbers)}"
        for name, field_value in fields
        if isinstance(field_value, Trigger) or not callable(field_value)
    )
    return f"{kind.__name__}({', '.join(described)})"
