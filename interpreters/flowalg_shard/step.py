"""One instant at a grouping, for all keys of a shard at once: SEMANTICS section 5 over tables."""

from __future__ import annotations

import polars as pl
from attrs import field, frozen

from flowalg.errors import UnsupportedError
from flowalg.panes import DropReason, Timing
from flowalg.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.triggers import AtWatermark, Repeat, Trigger
from flowalg.windowing import WindowingStrategy
from flowalg.words import in_words
from flowalg_shard.aggregates import combine, extracted
from flowalg_shard.bundle import COUNT
from flowalg_shard.stage import END, START, Stage
from flowalg_shard.tables import stack

CHANGED = "__changed"
PANES = "__panes"
TIMING = "timing"
INDEX = "index"
IS_FIRST = "is_first"
IS_LAST = "is_last"
REASON = "reason"
DROPPED = "dropped"
EMITS = "__emits"


@frozen
class ShardState:
    """What a shard remembers: a row per open window, and the watermark as of the last instant.

    The columns of ``table`` are the keys, the window, the accumulators, whether anything came in since the last
    pane, and how many panes there were. A table without rows may lack its columns.
    """

    table: pl.DataFrame = field(factory=pl.DataFrame)
    watermark: EventTime = MIN_TIME


@frozen
class Emission:
    """What an instant gives: panes (keys, window, results, and what a pane says of itself), and drops.

    A row of ``drops`` stands for all elements that one key and window refused in this instant: how many, and
    what they would have come to.
    """

    panes: pl.DataFrame
    drops: pl.DataFrame


def step(
    stage: Stage, state: ShardState, bundles: list[pl.DataFrame], watermark: EventTime
) -> tuple[ShardState, Emission]:
    """The state and the emission after one instant.

    ``bundles`` come from ``precombine``, in any order and division; ``watermark`` is what the input watermark
    reads after the instant's elements.
    """
    before = state.watermark
    bundle = stack(bundles)
    expired = _expired(stage.strategy, before)
    live = bundle if bundle.is_empty() else bundle.filter(~expired)
    accepted, shut = _split_closed(stage, state, live)
    drops = stack(
        [
            _drops(stage, stack([] if bundle.is_empty() else [bundle.filter(expired)]), DropReason.EXPIRED),
            _drops(stage, shut, DropReason.CLOSED),
        ]
    )
    table = _absorb(stage, state.table, accepted)
    if table.is_empty():
        return ShardState(pl.DataFrame(), watermark), Emission(pl.DataFrame(), drops)
    ends = _expired(stage.strategy, watermark)
    fires = ready(stage.strategy.trigger, watermark)
    closes = fires if finishes(stage.strategy.trigger) else pl.lit(False)
    emits = pl.col(CHANGED) & (fires | ends | (watermark == MAX_TIME))
    table = table.with_columns(emits.alias(EMITS))
    panes = table.filter(EMITS).select(
        *stage.keys,
        START,
        END,
        *(extracted(column) for column in stage.aggregates),
        timing(before, watermark).alias(TIMING),
        pl.col(PANES).alias(INDEX),
        (pl.col(PANES) == 0).alias(IS_FIRST),
        (ends | closes).alias(IS_LAST),
    )
    kept = (
        table.filter(~ends)
        .with_columns(
            (pl.col(CHANGED) & ~pl.col(EMITS)).alias(CHANGED),
            (pl.col(PANES) + pl.col(EMITS).cast(pl.Int64)).alias(PANES),
        )
        .drop(EMITS)
    )
    return ShardState(kept, watermark), Emission(panes, drops)


def _split_closed(stage: Stage, state: ShardState, bundle: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What open windows take in, and what meets a window whose trigger has finished.

    The triggers that finish do so in the first instant at which the watermark has passed, so that a kept row
    whose window was complete before this instant is a closed one.
    """
    if bundle.is_empty() or state.table.is_empty() or not finishes(stage.strategy.trigger):
        return bundle, pl.DataFrame()
    place = [*stage.keys, START, END]
    closed = state.table.filter(pl.col(END) <= state.watermark).select(place)
    return (
        bundle.join(closed, on=place, how="anti", nulls_equal=True),
        bundle.join(closed, on=place, how="semi", nulls_equal=True),
    )


def _absorb(stage: Stage, table: pl.DataFrame, accepted: pl.DataFrame) -> pl.DataFrame:
    """The table with the accepted elements taken in."""
    if accepted.is_empty():
        return table
    arrived = accepted.drop(COUNT).with_columns(pl.lit(True).alias(CHANGED), pl.lit(0, pl.Int64).alias(PANES))
    columns = [
        *stage.keys,
        START,
        END,
        *(name for column in stage.aggregates for name in column.accumulators),
        CHANGED,
        PANES,
    ]
    return combine(
        stack([table, arrived.select(columns)]),
        [*stage.keys, START, END],
        stage.aggregates,
        [pl.col(CHANGED).any(), pl.col(PANES).max()],
        stage.label,
    )


def _drops(stage: Stage, refused: pl.DataFrame, reason: DropReason) -> pl.DataFrame:
    if refused.is_empty():
        return pl.DataFrame()
    merged = combine(refused, [*stage.keys, START, END], stage.aggregates, [pl.col(COUNT).sum()], stage.label)
    return merged.select(
        *stage.keys,
        START,
        END,
        *(extracted(column) for column in stage.aggregates),
        pl.lit(reason.value).alias(REASON),
        pl.col(COUNT).alias(DROPPED),
    )


def _expired(strategy: WindowingStrategy, watermark: EventTime) -> pl.Expr:
    lateness = strategy.lateness_micros
    return pl.lit(False) if lateness is None else pl.col(END) + lateness <= watermark


def ready(trigger: Trigger, watermark: EventTime) -> pl.Expr:
    """Whether each row's trigger fires when its window is evaluated."""
    match trigger:
        case AtWatermark(percentile=None):
            return pl.col(END) <= watermark
        case Repeat(trigger=inner):
            return ready(inner, watermark)
        case _:
            raise UnsupportedError(f"a trigger that fires {in_words(trigger)} has no columns")


def finishes(trigger: Trigger) -> bool:
    """Whether the trigger is finished once it has fired."""
    return not isinstance(trigger, Repeat)


def timing(before: EventTime, after: EventTime) -> pl.Expr:
    """Early, on time or late, by the watermark before an instant and after it (section 7)."""
    return (
        pl.when(pl.col(END) > after)
        .then(pl.lit(Timing.EARLY.value))
        .when(pl.col(END) > before)
        .then(pl.lit(Timing.ON_TIME.value))
        .otherwise(pl.lit(Timing.LATE.value))
    )


__all__ = ["Emission", "ShardState", "finishes", "ready", "step", "timing"]
