"""The placement of keys on shards, as an expression."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from flowalg_shard.placement.key_hash import shards_of
from flowalg_shard.tables.columns import SHARD

from flowalg.runs.placement import SEED, shard_number


def shard_of(key: Sequence[pl.Expr], shards: int) -> pl.Expr:
    """Returns the shard of a row, by the hash of its key."""
    if shards == 1 or not key:
        return pl.lit(shard_number(SEED, shards), pl.Int32()).alias(SHARD)
    names = [str(number) for number in range(len(key))]
    columns = pl.struct(column.alias(name) for column, name in zip(key, names, strict=True))
    return columns.map_batches(
        lambda keys: shards_of(keys.struct.unnest(), names, shards),
        return_dtype=pl.Int32(),
        is_elementwise=True,
    ).alias(SHARD)
