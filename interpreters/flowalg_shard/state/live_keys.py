"""The keys of a computation in the state of its shards: as a table for people, and as values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar, cast

import polars as pl

from flowalg.computations.calls import order_of_firing
from flowalg.computations.computation import Computation
from flowalg.computations.contents import KeyContents, WaitingElement
from flowalg.data.errors import ArgumentError, CheckpointError
from flowalg.data.shapes import RecordOf
from flowalg.data.time import MAX_TIME
from flowalg.data.values import sort_key
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import Process
from flowalg.pipeline.pcollection import PCollection
from flowalg.serialization.stored import read
from flowalg_shard.computations.kept_keys import (
    DUE_TIME,
    DUE_WATERMARK,
    KEPT_HOLD,
    NEVER,
    OF_CLOCK,
    POINT,
    TAG,
    TIMERS,
    Kept,
    KeptKey,
    read_kept,
)
from flowalg_shard.computations.kept_keys import WaitingElement as KeptElement
from flowalg_shard.computations.stage import ONLY_KEY, CodecOf, ComputationStage
from flowalg_shard.state.compatibility import (
    COMPUTATION,
    StageDescription,
    describe_computation,
    require_unchanged,
)
from flowalg_shard.state.window_store import WindowStore
from flowalg_shard.tables.columns import CONTENTS
from flowalg_shard.tables.packing import stack

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")
Out = TypeVar("Out")

_STATE: Final = "__state"
_WAITING: Final = "waiting"


OWN_COLUMNS: Final = (
    "stage",
    "shard",
    "state_text",
    "timers",
    "hold",
    "waiting",
    "next_watermark",
    "next_time",
)
"""The columns besides those of the key and of the state."""


def live_keys(label: str, shard: int, store: WindowStore) -> pl.DataFrame:
    """Returns a row for each key of a shard of a computation, with times in microseconds.

    The columns of a state are ``state``, or ``state.`` and the name of a field; a state that is stored as Python has
    its text in ``state_text``. ``timers`` are lists of the tag, the clock and the time; ``hold`` is null without a
    hold, and ``waiting`` is the number of elements that wait for the watermark.
    """
    tables = []
    for part in store.parts:
        keys, waiting = part.windows, part.current_panes
        if keys.is_empty():
            continue
        hashed = part.segment.hashed
        by = hashed or (ONLY_KEY,)
        if waiting.is_empty():
            counted = keys.with_columns(pl.lit(0, pl.Int64()).alias(_WAITING))
        else:
            counts = waiting.group_by(by).agg(pl.len().cast(pl.Int64()).alias(_WAITING))
            joined = keys.join(counts, on=by, how="left", nulls_equal=True, maintain_order="left")
            counted = joined.with_columns(pl.col(_WAITING).fill_null(0))
        state = [name for name in keys.columns if name.startswith(_STATE)]
        text = counted[CONTENTS].to_list()
        texts = [None if packed is None else _text(packed) for packed in text]
        event_time, clock = pl.lit("event time"), pl.lit("processing time")
        timer = pl.element().struct
        tables.append(
            counted.select(
                pl.lit(label).alias("stage"),
                pl.lit(shard, pl.Int32()).alias("shard"),
                *(pl.col(name).alias(_readable(name)) for name in hashed),
                *(pl.col(name).alias(_readable(name.removeprefix("__"))) for name in state),
                pl.Series("state_text", texts, pl.String()),
                pl.col(TIMERS)
                .list.eval(
                    pl.struct(
                        timer.field(TAG),
                        pl.when(timer.field(OF_CLOCK)).then(clock).otherwise(event_time).alias("clock"),
                        timer.field(POINT).alias("at"),
                    )
                )
                .alias("timers"),
                _known(KEPT_HOLD, MAX_TIME).alias("hold"),
                _WAITING,
                _known(DUE_WATERMARK, MAX_TIME).alias("next_watermark"),
                _known(DUE_TIME, NEVER).alias("next_time"),
            )
        )
    return stack(tables)


def _text(stored: bytes) -> str:
    """Returns a stored state as text. A pickle, which no JSON begins like, is not read, since that may run code."""
    return "a pickled state" if stored[:1] == b"\x80" else repr(read(stored, object))


def _readable(name: str) -> str:
    return name.replace("/", ".")


def _known(name: str, unknown: int) -> pl.Expr:
    return pl.when(pl.col(name) < unknown).then(pl.col(name))


def read_keys(
    pipeline: PCollection[object],
    computation: Computation[K, V, S, Out],
    codec_of: CodecOf,
    description: StageDescription | None,
    stores: Iterable[WindowStore],
) -> tuple[KeyContents[K, V, S], ...]:
    """Returns the contents of all keys of a computation in the state of its shards, by key.

    Raises ``ArgumentError`` for a computation that is not in the pipeline, and ``CheckpointError`` for a state that is
    not of this computation, or of other types. Without a description nothing is stored yet.
    """
    if description is None:
        return ()
    stage = _stage_of(pipeline, computation, codec_of, description)
    tables = [Kept(part.windows, part.current_panes) for store in stores for part in store.parts]
    contents = [_contents(kept_key) for kept in tables for kept_key in read_kept(stage, kept)]
    ordered = sorted(contents, key=lambda key_contents: sort_key(key_contents.key))
    return cast("tuple[KeyContents[K, V, S], ...]", tuple(ordered))


def _stage_of(
    pipeline: PCollection[object],
    computation: Computation[K, V, S, Out],
    codec_of: CodecOf,
    description: StageDescription,
) -> ComputationStage:
    """Returns the stage of a computation that a stored state is of."""
    if not isinstance(pipeline, PCollection):
        raise ArgumentError("pipeline", pipeline, "a PCollection, the pipeline of the query")
    nodes = [
        node
        for node in nodes_of(pipeline.node)
        if isinstance(node, Process) and node.computation is computation
    ]
    if not nodes:
        raise ArgumentError("computation", computation, "a computation of the pipeline")
    if COMPUTATION not in description.facts:
        raise CheckpointError(
            f"stage {description.label!r} is not a computation; give the number of another stage"
        )
    *others, last = nodes
    for node in others:
        try:
            return _checked_stage(node, codec_of, description)
        except CheckpointError:
            continue
    return _checked_stage(last, codec_of, description)


def _checked_stage(node: Process, codec_of: CodecOf, description: StageDescription) -> ComputationStage:
    element, output = node.input.shape, node.shape
    if not isinstance(element, RecordOf) or not isinstance(output, RecordOf):
        raise CheckpointError(f"{node.label}: the types of its elements and outputs are unknown")
    stage = ComputationStage.of(node, element, output, codec_of, dead_letters=False)
    require_unchanged(description, describe_computation(stage, element))
    return stage


def _contents(kept: KeptKey) -> KeyContents[object, object, object]:
    key_state = kept.key_state
    return KeyContents(
        kept.key,
        None if key_state is None else key_state.state,
        tuple(pending.timer for pending in sorted(key_state.timers.values(), key=order_of_firing))
        if key_state
        else (),
        None if key_state is None or key_state.hold is None else key_state.hold.datetime,
        tuple(
            WaitingElement(element.value, element.event_time.datetime, element.weight < 0)
            for element in sorted(kept.waiting, key=_order_of_waiting)
        ),
    )


def _order_of_waiting(element: KeptElement) -> tuple[object, ...]:
    return element.event_time, element.weight, sort_key(element.value)
