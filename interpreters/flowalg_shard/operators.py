"""Stages as engines run them, shard by shard: bytes and clocks in, bytes and clocks out.

A stage has one or more inputs, each with its upstreams. An engine brings what each input partition sends to the shard,
keeps the ``OperatorState`` of the shard, and passes the ``OperatorOutput`` on. ``advance`` is pure and deterministic,
except for the names of segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TypeAlias, cast

import polars as pl
from attrs import evolve, field, frozen

from flowalg.data.time import MAX_TIME, EventTime
from flowalg.runs.bad_records import BadRecord
from flowalg.serialization.stored import read, store
from flowalg_shard.clocks.exchange import (
    InputClocks,
    Reports,
    StageReport,
    Upstream,
    advance_clocks,
    merge_reports,
)
from flowalg_shard.clocks.steady_clock import SteadyClock
from flowalg_shard.computations.kept_keys import DUE_TIME, DUE_WATERMARK, KEPT_HOLD, Kept
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.computations.step import ComputationOutput, compute
from flowalg_shard.contents.stage import Stage
from flowalg_shard.state.dormancy import NEXT_TIME, NEXT_WATERMARK
from flowalg_shard.state.window_store import WindowStore
from flowalg_shard.step.late_data import dropped_rows, unpack_with_elements
from flowalg_shard.step.panes import HOLD
from flowalg_shard.step.shard_state import Emission
from flowalg_shard.step.side_inputs import (
    LateElement,
    SideDrops,
    SideOutput,
    SideStage,
    SideState,
    Watermarks,
    read_side,
)
from flowalg_shard.step.step import step
from flowalg_shard.tables.columns import DROP_COUNT
from flowalg_shard.tables.packing import pack, pack_parts, stack, unpack, unpack_parts


@frozen
class ShardInput:
    """The input of a shard from one input partition: a bundle of elements, and clock reports."""

    bundle: bytes
    reports: Reports


@frozen
class OperatorState:
    """The state of a shard of a stage between instants: the clocks of its inputs, and its windows or its side input."""

    input_clocks: tuple[InputClocks, ...]
    windows: WindowStore = field(factory=WindowStore)
    side_input: bytes = b""


@frozen
class OperatorOutput:
    """The output of a shard in an instant: panes or elements with their side values, drops, and its clock report."""

    panes: bytes
    drops: bytes
    report: StageReport
    side_values: bytes = b""


@frozen
class Reader:
    """What a stage reads: the upstreams of each input, and further sources whose clocks it needs.

    An idle one of its sources follows these.
    """

    inputs: tuple[tuple[Upstream, ...], ...]
    followed: tuple[Upstream, ...] = field(default=(), kw_only=True)


def advance(
    operator: Operator,
    state: OperatorState | None,
    received: Sequence[Sequence[ShardInput]],
    *,
    first_shard: bool,
    clock: SteadyClock | None = None,
) -> tuple[OperatorState, OperatorOutput]:
    """Advance a shard by one instant: its state after it, and its output.

    The first shard reports what all shards know alike. ``received`` has what each partition of each input has sent, and
    then of the followed sources. ``state`` is ``None`` before the first instant. ``clock`` has the processing time of
    the instant, if elements are at the time of their micro-batch.
    """
    before = OperatorState(()) if state is None else state
    before = evolve(before, input_clocks=known_clocks(operator, before.input_clocks))
    reports = [merge_reports(part.reports for part in parts) for parts in received]
    clocks = next_clocks(operator, before, reports, clock)
    bundles = [[part.bundle for part in parts if part.bundle] for parts in received[: len(operator.inputs)]]
    return operator.advance(before, clocks, bundles, first_shard=first_shard)


def known_clocks(reader: Reader, stored: tuple[InputClocks, ...]) -> tuple[InputClocks, ...]:
    """Returns the clocks of the inputs and of the followed sources, of which a stored state may not know some yet."""
    upstreams = [*reader.inputs, reader.followed] if reader.followed else reader.inputs
    return tuple(
        input_clocks
        if input_clocks is not None and len(input_clocks.upstreams) == len(input_upstreams)
        else InputClocks.initial(input_upstreams)
        for input_upstreams, input_clocks in zip(
            upstreams, (*stored, *repeat(None, len(upstreams))), strict=False
        )
    )


def next_clocks(
    reader: Reader, state: OperatorState, reports: Sequence[Reports], clock: SteadyClock | None = None
) -> tuple[InputClocks, ...]:
    """Returns the clocks of a stage after an instant, given the reports of its inputs and of the followed sources."""
    input_clocks = known_clocks(reader, state.input_clocks)
    return advance_clocks(reader.inputs, input_clocks, reports[: len(input_clocks)], reader.followed, clock)


@frozen
class Grouping(Reader):
    """A grouping: one input of pre-combined elements, with ``late_data`` beside the elements themselves."""

    stage: Stage
    late_data: bool = False

    def advance(
        self,
        state: OperatorState,
        input_clocks: tuple[InputClocks, ...],
        bundles: Sequence[Sequence[bytes]],
        *,
        first_shard: bool,
    ) -> tuple[OperatorState, OperatorOutput]:
        """One step over the active windows, of packed bundles. Late data are the rows of the dropped elements."""
        del first_shard
        (arrived,) = bundles
        if not self.late_data:
            after, emission, report = self.step(state, input_clocks, [unpack(bundle) for bundle in arrived])
            return after, OperatorOutput(pack(emission.panes), pack(emission.drops), report)
        received = [unpack_with_elements(bundle) for bundle in arrived]
        after, emission, report = self.step(state, input_clocks, [bundle for bundle, _ in received])
        drops = pl.DataFrame()
        if emission.late.count:
            rows = stack([elements for _, elements in received])
            drops = dropped_rows(self.stage, rows, [emission.late]).with_columns(pl.lit(1).alias(DROP_COUNT))
        return after, OperatorOutput(pack(emission.panes), pack(drops), report)

    def step(
        self, state: OperatorState, input_clocks: tuple[InputClocks, ...], bundles: list[pl.DataFrame]
    ) -> tuple[OperatorState, Emission, StageReport]:
        """One step over the active windows."""
        before, now = state.input_clocks[0], input_clocks[0]
        active = state.windows.activate(self.stage, bundles, now.clocks)
        after, emission = step(self.stage, active.shard_state(before.clocks.watermark), bundles, now.clocks)
        report = StageReport(now.clocks, min(emission.hold, active.dormant.hold))
        windows = active.put_back(self.stage, after, now.clocks)
        return OperatorState(input_clocks, windows), emission, report


@frozen
class Side(Reader):
    """A side input, of two inputs: the elements, and the side itself, which is broadcast to all shards."""

    stage: SideStage

    def advance(
        self,
        state: OperatorState,
        input_clocks: tuple[InputClocks, ...],
        bundles: Sequence[Sequence[bytes]],
        *,
        first_shard: bool,
    ) -> tuple[OperatorState, OperatorOutput]:
        """Returns the elements that have finished waiting, with what they read; the first shard reports drops of the
        side.
        """
        elements, side = (stack([unpack(bundle) for bundle in parts]) for parts in bundles)
        after, output, report = self.step(state, input_clocks, elements, side)
        drops = output.drops if first_shard else evolve(output.drops, side=())
        values = store(output.values) if output.values else b""
        return after, OperatorOutput(pack(output.passed), _packed_drops(drops), report, values)

    def step(
        self,
        state: OperatorState,
        input_clocks: tuple[InputClocks, ...],
        elements: pl.DataFrame,
        side: pl.DataFrame,
    ) -> tuple[OperatorState, SideOutput, StageReport]:
        """Returns the elements that have finished waiting, with the side values they read."""
        side_state = unpack_side(state)
        of_main, of_side = (at_input.clocks for at_input in input_clocks[:2])
        before, now = map(_watermarks, (state.input_clocks, input_clocks))
        after, output = read_side(self.stage, side_state, elements, side, before, now)
        report = evolve(of_main, horizon=max(of_main.horizon, of_side.horizon))
        return (
            OperatorState(input_clocks, side_input=pack_side(after)),
            output,
            StageReport(report, output.hold),
        )


@frozen
class Computing(Reader):
    """A computation: one input of elements. Its windows are keys, which are due by timers.

    Elements that wait for the watermark are stored where groupings have their current panes.
    """

    stage: ComputationStage

    def step(
        self, state: OperatorState, input_clocks: tuple[InputClocks, ...], rows: pl.DataFrame
    ) -> tuple[OperatorState, ComputationOutput, StageReport]:
        """One step over the keys that elements arrive for or that are due."""
        before, now = state.input_clocks[0], input_clocks[0]
        active = state.windows.activate_rows(self.stage.keys, [rows], now.clocks)
        active_keys = Kept(active.windows, active.current_panes)
        kept, output = compute(self.stage, active_keys, rows, before.clocks.watermark, now.clocks)
        due = [
            pl.col(own).alias(name)
            for own, name in ((DUE_WATERMARK, NEXT_WATERMARK), (DUE_TIME, NEXT_TIME), (KEPT_HOLD, HOLD))
        ]
        windows = active.put_rows_back(
            self.stage.keys, kept.keys, kept.waiting, lambda: kept.keys.with_columns(due)
        )
        hold = windows.hold if now.clocks.watermark < MAX_TIME else MAX_TIME
        return OperatorState(input_clocks, windows), output, StageReport(now.clocks, hold)

    def advance(
        self,
        state: OperatorState,
        input_clocks: tuple[InputClocks, ...],
        bundles: Sequence[Sequence[bytes]],
        *,
        first_shard: bool,
    ) -> tuple[OperatorState, OperatorOutput]:
        """One step, of packed bundles."""
        del first_shard
        (arrived,) = bundles
        rows = stack([unpack(bundle) for bundle in arrived])
        after, output, report = self.step(state, input_clocks, rows)
        others = (output.drops, output.bad_records, output.unfired)
        return after, OperatorOutput(pack(output.outputs), store(others) if any(others) else b"", report)


Operator: TypeAlias = Grouping | Side | Computing
"""A kind of stage."""


def _watermarks(input_clocks: tuple[InputClocks, ...]) -> Watermarks:
    of_main, of_side = input_clocks[:2]
    return Watermarks(of_main.clocks.watermark, of_side.clocks.watermark)


def count_side_windows(state: OperatorState) -> int:
    """Returns the number of windows of a side input that a shard keeps, open and complete ones."""
    return unpack_side(state).windows


def pack_side(state: SideState) -> bytes:
    """``OperatorState.side_input`` of a side."""
    return pack_parts(pack(state.contents), store(state.values), pack(state.waiting))


def unpack_side(state: OperatorState) -> SideState:
    """Returns the state of a side input in that of a shard."""
    if not state.side_input:
        return SideState()
    contents, values, waiting = unpack_parts(state.side_input)
    return SideState(unpack(contents), read(values, dict), unpack(waiting))


def unpack_side_values(packed: bytes) -> dict[EventTime, object]:
    """``OperatorOutput.side_values`` of a side: the value of each window that was read, by its start."""
    return read(packed, dict) if packed else {}


_ComputationDrops: TypeAlias = tuple[tuple[LateElement, ...], tuple[BadRecord, ...], int]


def unpack_computation_drops(packed: bytes) -> _ComputationDrops:
    """``OperatorOutput.drops`` of a computation: late elements, bad records, and the number of unfired timers."""
    return cast("_ComputationDrops", read(packed, tuple)) if packed else ((), (), 0)


def _packed_drops(drops: SideDrops) -> bytes:
    return pack_parts(store((drops.side, drops.before)), pack(drops.elements)) if drops else b""


def unpack_side_drops(packed: bytes) -> SideDrops:
    """``OperatorOutput.drops`` of a side."""
    if not packed:
        return SideDrops()
    known, elements = unpack_parts(packed)
    side, before = read(known, tuple)
    return SideDrops(side, unpack(elements), before)
