"""The placement of keys on shards, by the hash of Polars, which another version of Polars may change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zlib import crc32

import polars as pl
from flowalg_shard.tables.columns import SHARD

_SAMPLE: Final[dict[str, list[object]]] = {
    "text": ["", "a", "a longer key that does not fit in a view", None],
    "integer": [0, 1, -(2**63), None],
    "float": [0.0, -1.5, 1e300, None],
    "boolean": [False, True, True, None],
    "time": [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 5, 6, tzinfo=UTC), None, None],
    "duration": [timedelta(0), timedelta(microseconds=-1), None, None],
    "list": [[], [1], [1, 2], None],
}
"""Keys of each type of column. They become a frame when it is needed: Polars starts its threads with the first one."""


def shard_of(key: Sequence[pl.Expr], shards: int) -> pl.Expr:
    """Returns the shard of a row, by the hash of its key."""
    if shards == 1 or not key:
        return pl.lit(0, pl.Int32()).alias(SHARD)
    return (_hash(key) % shards).cast(pl.Int32()).alias(SHARD)


def _hash(key: Sequence[pl.Expr]) -> pl.Expr:
    return pl.struct(*key).hash()


@cache
def placement_fingerprint() -> int:
    """Returns a number that differs if keys have other hashes, and so other shards, than in another process."""
    names = list(_SAMPLE)
    columns = [*([name] for name in names), names[:2]]
    hashes = pl.DataFrame(_SAMPLE).select(
        _hash([pl.col(name) for name in key]).alias(str(number)) for number, key in enumerate(columns)
    )
    return crc32(repr(hashes.rows()).encode())
