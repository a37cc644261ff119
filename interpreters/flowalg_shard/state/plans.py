"""Plans: what a changed pipeline can continue from a checkpoint, and what it cannot, before it is started."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from flowalg.data.errors import CheckpointError
from flowalg_shard.state.compatibility import (
    COMPATIBLE_CHANGES,
    Inputs,
    Outcome,
    StageDescription,
    StageFinding,
    compare_stages,
    require_continuable,
)

_GONE = -1
"""The number of a stage that the changed pipeline does not have."""


@frozen
class ChangePlan:
    """What becomes of the state of each stage when a pipeline starts from a checkpoint.

    ``problems`` are the reasons against it that concern the whole query. A query that starts from the checkpoint makes
    the same plan, and raises ``CheckpointError`` unless it is accepted.
    """

    stages: tuple[StageFinding, ...]
    problems: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def accepted(self) -> bool:
        """Whether the pipeline can start from the checkpoint."""
        return not self.problems and all(
            finding.outcome is not Outcome.INCOMPATIBLE for finding in self.stages
        )

    def require_accepted(self) -> None:
        """Raises ``CheckpointError`` with the first reason against it."""
        for problem in self.problems:
            raise CheckpointError(problem)
        for finding in self.stages:
            require_continuable(finding)

    def __str__(self) -> str:
        verdict = "can" if self.accepted else "cannot"
        lines = (
            f"The pipeline {verdict} continue from the checkpoint.",
            *self.problems,
            *map(str, self.stages),
        )
        return "\n".join(lines)


def plan_stages(
    before: Sequence[StageDescription], now: Sequence[StageDescription]
) -> tuple[StageFinding, ...]:
    """Returns what becomes of the state of each stage: first those of the pipeline in order, then the removed ones.

    Stages with the same label correspond to each other in order, and so do those that are left over, as renamed ones,
    if there are equally many. If there are others on one side only, they are new or removed. A new stage must read
    sources and other new stages only: what a stage before it emitted earlier is gone. If it is ambiguous which stages
    correspond, none of the ambiguous ones can continue.
    """
    pairs, ambiguous = _correspondence(before, now)
    if ambiguous is not None:
        why = (f"{ambiguous}, so it is ambiguous which of them continue. {COMPATIBLE_CHANGES}",)
        return tuple(
            StageFinding(stage.label, Outcome.INCOMPATIBLE, why, now=number)
            for number, stage in enumerate(now)
        )
    numbers = {old: new for new, old in pairs.items()}
    findings = [
        _continued(before[pairs[new]], stage, pairs[new], new, numbers)
        if new in pairs
        else _added(stage, new, pairs, now)
        for new, stage in enumerate(now)
    ]
    removed = (
        StageFinding(stage.label, Outcome.REMOVED, before=old)
        for old, stage in enumerate(before)
        if old not in numbers
    )
    return (*findings, *removed)


def _correspondence(
    before: Sequence[StageDescription], now: Sequence[StageDescription]
) -> tuple[dict[int, int], str | None]:
    """Returns the number in the checkpoint of each continued stage, by its number now; and what is ambiguous."""
    old, new = _by_label(before), _by_label(now)
    pairs: dict[int, int] = {}
    for label in old.keys() & new.keys():
        if len(old[label]) != len(new[label]):
            counts = f"{len(old[label])} stages named {label!r}, and the pipeline {len(new[label])}"
            return {}, f"the checkpoint has {counts}"
        pairs.update(zip(new[label], old[label], strict=True))
    left = [number for number in range(len(before)) if number not in pairs.values()]
    added = [number for number in range(len(now)) if number not in pairs]
    if len(left) == len(added):
        pairs.update(zip(added, left, strict=True))
    elif left and added:
        gone, come = (
            ", ".join(repr(stages[number].label) for number in numbers)
            for stages, numbers in ((before, left), (now, added))
        )
        return {}, f"the checkpoint has the stages {gone}, and the pipeline {come} instead"
    return pairs, None


def _by_label(stages: Sequence[StageDescription]) -> Mapping[str, list[int]]:
    numbers = defaultdict[str, list[int]](list)
    for number, stage in enumerate(stages):
        numbers[stage.label].append(number)
    return numbers


def _continued(
    before: StageDescription,
    now: StageDescription,
    old: int,
    new: int,
    numbers: Mapping[int, int],
) -> StageFinding:
    """Returns the finding for a stage that is in both."""
    renumbered: Inputs = tuple(
        tuple(
            numbers.get(upstream, _GONE) if isinstance(upstream, int) else upstream for upstream in upstreams
        )
        for upstreams in before.inputs or ()
    )
    return evolve(compare_stages(evolve(before, inputs=renumbered), now), before=old, now=new)


def _added(
    stage: StageDescription, new: int, pairs: Mapping[int, int], now: Sequence[StageDescription]
) -> StageFinding:
    """Returns the finding for a stage that only the pipeline has."""
    upstreams = (upstream for upstreams in stage.inputs or () for upstream in upstreams)
    missed = [
        upstream
        for upstream in upstreams
        if upstream is None or (isinstance(upstream, int) and upstream in pairs)
    ]
    if missed:
        names = ", ".join(
            "a stage" if upstream is None else f"stage {now[int(upstream)].label!r}" for upstream in missed
        )
        why = (f"it is new and reads {names}, whose earlier output is gone",)
        return StageFinding(stage.label, Outcome.INCOMPATIBLE, why, now=new)
    return StageFinding(stage.label, Outcome.NEW, now=new)
