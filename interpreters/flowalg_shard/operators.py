"""Stages as an engine runs them, shard by shard: bytes and clocks in, bytes and clocks out.

A stage has one or more inputs, each with origins of its own; an engine brings what each part of an input sends to the
shard, keeps ``Stored`` under the shard's number, and carries ``Emitted`` on. ``advanced`` is pure and deterministic,
but for the names of segments.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Protocol, cast

from attrs import field, frozen

from flowalg.data.time import EventTime
from flowalg_shard.clocks.exchange import (
    InputClocks,
    Reports,
    StageReport,
    Upstream,
    advance_clocks,
    merge_reports,
)
from flowalg_shard.state.window_store import Memory
from flowalg_shard.step.side_inputs import LateForSide, SideStage, SideState, read_side
from flowalg_shard.step.stage import Stage
from flowalg_shard.step.step import step
from flowalg_shard.tables.packing import pack, stack, unpack


@frozen
class Sent:
    """What one part of an input sends to a shard."""

    bundle: bytes
    reports: Reports


@frozen
class Stored:
    """What a shard remembers between instants: what it has heard of each input, its windows, and what else it keeps."""

    heard: tuple[InputClocks, ...]
    memory: Memory = field(factory=Memory)
    beside: bytes = b""


@frozen
class Emitted:
    """What a shard gives in an instant. ``beside`` and ``drops`` are of the operator's own form."""

    panes: bytes
    drops: bytes
    report: StageReport
    beside: bytes = b""


class Operator(Protocol):
    """A kind of stage."""

    @property
    def inputs(self) -> tuple[tuple[Upstream, ...], ...]:
        """The origins of each input."""
        ...

    def instant(
        self,
        stored: Stored,
        heard: tuple[InputClocks, ...],
        bundles: Sequence[Sequence[bytes]],
        *,
        first: bool,
    ) -> tuple[Stored, Emitted]:
        """One instant of one shard, given what it has heard by now; ``first`` is the shard that speaks for all."""
        ...


def advanced(
    operator: Operator, stored: Stored | None, sent: Sequence[Sequence[Sent]], *, first: bool
) -> tuple[Stored, Emitted]:
    """One instant of one shard: what is stored after it, and what it gives. ``sent`` has the parts of each input."""
    before = Stored(tuple(map(InputClocks.initial, operator.inputs))) if stored is None else stored
    reports = [merge_reports(one.reports for one in parts) for parts in sent]
    heard = advance_clocks(operator.inputs, before.heard, reports)
    bundles = [[one.bundle for one in parts if one.bundle] for parts in sent]
    return operator.instant(before, heard, bundles, first=first)


@frozen
class Grouping:
    """A grouping: one input of pre-combined elements."""

    stage: Stage
    upstreams: tuple[Upstream, ...]

    @property
    def inputs(self) -> tuple[tuple[Upstream, ...], ...]:
        """The one input."""
        return (self.upstreams,)

    def instant(
        self,
        stored: Stored,
        heard: tuple[InputClocks, ...],
        bundles: Sequence[Sequence[bytes]],
        *,
        first: bool,
    ) -> tuple[Stored, Emitted]:
        """The shard step, of the windows that do not rest."""
        del first
        (before,), (now,), (arrived,) = stored.heard, heard, bundles
        tables = [unpack(one) for one in arrived]
        awake = stored.memory.awake(self.stage, tables, now.clocks)
        after, emission = step(self.stage, awake.state(before.clocks.watermark), tables, now.clocks)
        report = StageReport(now.clocks, min(emission.hold, awake.resting.hold))
        return Stored(heard, awake.then(self.stage, after, now.clocks)), Emitted(
            pack(emission.panes), pack(emission.drops), report
        )


@frozen
class Side:
    """A side input: first the elements, and then the side, of which every shard hears everything."""

    stage: SideStage
    main: tuple[Upstream, ...]
    side: tuple[Upstream, ...]

    @property
    def inputs(self) -> tuple[tuple[Upstream, ...], ...]:
        """The elements and the side."""
        return (self.main, self.side)

    def instant(
        self,
        stored: Stored,
        heard: tuple[InputClocks, ...],
        bundles: Sequence[Sequence[bytes]],
        *,
        first: bool,
    ) -> tuple[Stored, Emitted]:
        """The elements that are done waiting; ``beside`` has what they read, and the first shard tells the drops."""
        elements, side = (stack([unpack(one) for one in parts]) for parts in bundles)
        state = _side_state(stored)
        clocks = heard[0].clocks
        after, beside = read_side(
            self.stage, state, elements, side, stored.heard[1].clocks.watermark, heard[1].clocks.watermark
        )
        kept = Stored(heard, beside=pickle.dumps((after.lines, after.read, pack(after.waiting))))
        drops = pickle.dumps(beside.drops) if first and beside.drops else b""
        readings = pickle.dumps(beside.readings) if beside.readings else b""
        return kept, Emitted(pack(beside.passed), drops, StageReport(clocks, beside.hold), readings)


def _side_state(stored: Stored) -> SideState:
    if not stored.beside:
        return SideState()
    lines, read, waiting = pickle.loads(stored.beside)  # of our own making
    return SideState(lines, read, unpack(waiting))


def readings_of(packed: bytes) -> dict[EventTime, object]:
    """What ``Emitted.beside`` of a side says: what each window of the side comes to, by its start."""
    return cast("dict[EventTime, object]", pickle.loads(packed)) if packed else {}


def late_for_side(packed: bytes) -> tuple[LateForSide, ...]:
    """What ``Emitted.drops`` of a side says."""
    return cast("tuple[LateForSide, ...]", pickle.loads(packed)) if packed else ()


__all__ = [
    "Emitted",
    "Grouping",
    "Operator",
    "Sent",
    "Side",
    "Stored",
    "advanced",
    "late_for_side",
    "readings_of",
]
