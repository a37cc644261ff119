"""The elements of an instant in the order in which a computation observes them (SEMANTICS section 17)."""

from __future__ import annotations

from itertools import groupby

import polars as pl

from flowalg.data.values import same, sort_key
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import EVENT_TIME, WEIGHT

_INDEX = "__index"


def settle(stage: ComputationStage, elements: pl.DataFrame) -> pl.DataFrame:
    """Returns elements by key and then in their order, without values and retractions that cancel out."""
    if elements.height > 1 and (elements[WEIGHT] < 0).any():
        elements = _without_cancelled(stage, elements)
    if elements.height < 2:
        return elements
    by = [*stage.identity, EVENT_TIME, WEIGHT]
    if stage.value.order is not None:
        return elements.sort([*by, *stage.value.order], maintain_order=True)
    return _by_value(stage, elements.sort(by, maintain_order=True), by)


def _by_value(stage: ComputationStage, ordered: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns sorted elements with those in the order of their values that are equal by some columns."""
    repeated = ordered.select(
        pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in by).alias(_INDEX)
    )[_INDEX]
    repeated[0] = False
    tied = repeated | repeated.shift(-1, fill_value=False)
    if not tied.any():
        return ordered
    rows = tied.arg_true()
    values, groups = stage.value.read(ordered[rows]), (~repeated).cum_sum()[rows].to_list()
    order = sorted(range(len(rows)), key=lambda row: (groups[row], sort_key(values[row])))
    return ordered[pl.int_range(ordered.height, eager=True).scatter(rows, rows[order])]


def _without_cancelled(stage: ComputationStage, elements: pl.DataFrame) -> pl.DataFrame:
    """Returns elements without values and retractions of one key and event time that cancel out."""
    by = [*stage.identity, EVENT_TIME]
    indexed = elements.with_row_index(_INDEX)
    involved = indexed.filter(pl.col(WEIGHT).min().over(by) < 0).sort(by, maintain_order=True)
    groups = involved.select(pl.struct(by).rle_id()).to_series().to_list()
    values = stage.value.read(involved)
    weights, rows = involved[WEIGHT].to_list(), involved[_INDEX].to_list()
    cancelled: list[int] = []
    for _, group in groupby(range(len(groups)), key=groups.__getitem__):
        alike = list(group)
        while alike:
            first = values[alike[0]]
            equal = [index for index in alike if same(values[index], first)]
            alike = [index for index in alike if not same(values[index], first)]
            net = sum(weights[index] for index in equal)
            kept = [index for index in equal if weights[index] * net > 0][: abs(net)]
            cancelled += [rows[index] for index in equal if index not in kept]
    return indexed.filter(~pl.col(_INDEX).is_in(cancelled)).drop(_INDEX)
