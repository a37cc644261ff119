"""The hash of keys in columns, whatever their physical types are, and the shards on which it places them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from flowalg.data.shapes import DECIMAL_PRECISION, DECIMAL_SCALE
from flowalg.runs.placement import SEED
from flowalg_shard.placement.xxh64 import Words, hash_bytes, hash_halves, hash_words
from flowalg_shard.tables.columns import SHARD

N = TypeVar("N", np.int64, np.uint8)
_Array: TypeAlias = "pa.Array[Any]"
_Lists: TypeAlias = "pa.ListArray[Any] | pa.LargeListArray[Any]"

_NAN: Final = np.array(np.nan).view(np.uint64)
_DECIMAL_BYTES: Final = 16
_BLOCK: Final = 1 << 15
"""The rows that are hashed at once: few enough for the caches of a processor."""


def shards_of(table: pl.DataFrame, key: Sequence[str], shards: int) -> pl.Series:
    """Returns the number of the shard of each row of a table, by the columns ``key`` of its key."""
    return pl.Series(SHARD, (hash_keys(table, key) % shards).astype(np.int32))


def hash_keys(table: pl.DataFrame, key: Sequence[str]) -> npt.NDArray[np.int64]:
    """Returns the hash of the key of each row; law: it is that of ``flowalg.runs.placement.key_hash``.

    ``key`` are the columns of the key in the order of its layout.
    """
    hashes = np.full(table.height, SEED, np.uint64)
    for start in range(0, table.height, _BLOCK):
        block = table.slice(start, _BLOCK)
        for name in key:
            column = block[name].rechunk().to_arrow()
            hashes[start : start + _BLOCK] = _hash_array(column, hashes[start : start + _BLOCK])
    return hashes.view(np.int64)


def _hash_array(array: _Array, seeds: Words) -> Words:
    """Returns the hashes of values with seeds; that of a null is its seed."""
    hashes = _hash_values(array, seeds)
    return (
        np.where(array.is_valid().to_numpy(zero_copy_only=False), hashes, seeds)
        if array.null_count
        else hashes
    )


def _hash_values(array: _Array, seeds: Words) -> Words:
    """Returns the hashes of values, and any numbers for nulls."""
    match array:
        case pa.NullArray():
            return seeds
        case pa.StructArray():
            return reduce(lambda hashes, part: _hash_array(part, hashes), array.flatten(), seeds)
        case pa.ListArray() | pa.LargeListArray():
            return _hash_lists(array, seeds)
        case pa.BooleanArray():
            return hash_halves(_numbers(array.cast(pa.uint32())), seeds)
        case pa.Date32Array():
            return hash_halves(_numbers(array.view(pa.uint32())), seeds)
        case pa.FloatingPointArray():
            floats = _numbers(array.cast(pa.float64())) + 0.0
            return hash_words(np.where(np.isnan(floats), _NAN, floats.view(np.uint64)), seeds)
        case pa.Decimal128Array():
            return _hash_decimals(array.cast(pa.decimal128(DECIMAL_PRECISION, DECIMAL_SCALE)), seeds)
        case pa.TimestampArray():
            return _hash_integers(array.cast(pa.timestamp("us", array.type.tz)), seeds)
        case pa.DurationArray():
            return _hash_integers(array.cast(pa.duration("us")), seeds)
        case pa.IntegerArray():
            return _hash_integers(array, seeds)
        case _:
            return _hash_texts(array.cast(pa.large_binary()), seeds)


def _hash_integers(array: _Array, seeds: Words) -> Words:
    return hash_words(_numbers(array.cast(pa.int64()).view(pa.uint64())), seeds)


def _numbers(array: _Array) -> npt.NDArray[Any]:
    numbers: npt.NDArray[Any] = array.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _buffer(array: _Array, number: int, kind: type[N]) -> npt.NDArray[N]:
    buffer = array.buffers()[number]
    return np.frombuffer(b"" if buffer is None else memoryview(buffer), kind)


def _hash_texts(array: _Array, seeds: Words) -> Words:
    """Returns the hashes of bytes, or of texts in UTF-8."""
    bounds = _buffer(array, 1, np.int64)[array.offset : array.offset + len(array) + 1]
    return hash_bytes(_buffer(array, 2, np.uint8), bounds[:-1], np.diff(bounds), seeds)


def _hash_decimals(array: _Array, seeds: Words) -> Words:
    """Returns the hashes of decimals: of the bytes of their unscaled numbers, as few as these need, big-endian."""
    stored = _buffer(array, 1, np.uint8).reshape(-1, _DECIMAL_BYTES)
    data = np.ascontiguousarray(stored[array.offset : array.offset + len(array), ::-1])
    # A byte is redundant if it only repeats the sign, which the next byte has as its first bit.
    signs = data[:, :1] >> 7
    redundant = (data[:, :-1] == signs * np.uint8(255)) & (data[:, 1:] >> 7 == signs)
    skipped = np.logical_and.accumulate(redundant, axis=1).sum(axis=1, dtype=np.int64)
    starts = np.arange(len(data), dtype=np.int64) * _DECIMAL_BYTES + skipped
    return hash_bytes(data.ravel(), starts, _DECIMAL_BYTES - skipped, seeds)


def _hash_lists(array: _Lists, seeds: Words) -> Words:
    """Returns the hashes of lists: the hash of an item is the seed of the next one."""
    bounds = array.offsets.to_numpy().astype(np.int64)
    starts, lengths = bounds[:-1], np.diff(bounds)
    hashes, position = seeds.copy(), 0
    rows = np.flatnonzero(lengths)
    while len(rows):
        items = array.values.take(starts[rows] + position)
        hashes[rows] = _hash_array(items, hashes[rows])
        position += 1
        rows = rows[lengths[rows] > position]
    return hashes
