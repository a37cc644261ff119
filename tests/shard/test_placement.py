"""The hash that places keys on shards, in columns, is that of its definition, whatever the types of the columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from flowalg_shard.placement.key_hash import hash_keys, shards_of
from flowalg_shard.placement.xxh64 import hash_bytes
from hypothesis import given

from flowalg.data.shapes import DECIMAL, shape_of
from flowalg.runs.placement import SEED, key_hash, shard_number, xxh64
from tests.support.placed_keys import Keys, generated_keys, vectors

PUBLISHED = {
    b"": 0xEF46DB3751D8E999,
    b"a": 0xD24EC4F1A98C6E5B,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
}
"""Hashes with the seed 0 that XXH64 is known to have."""


@pytest.mark.parametrize("data", PUBLISHED)
def test_the_hash_of_bytes_is_xxh64(data: bytes) -> None:
    """The definition and the columns have the published hashes."""
    assert xxh64(data, 0) == PUBLISHED[data]
    stored, one = np.frombuffer(data, np.uint8), np.array([len(data)])
    assert hash_bytes(stored, np.array([0]), one, np.zeros(1, np.uint64)).tolist() == [PUBLISHED[data]]


def test_the_page_has_vectors() -> None:
    """The definition and the columns have the hashes of the table."""
    table = vectors()
    assert len(table) == 25
    for keys, expected in table:
        assert keys.hashes == [expected], keys
        assert hash_keys(keys.columns, keys.columns.columns).tolist() == [expected], keys


@given(generated_keys())
def test_columns_have_the_hash_of_the_definition(keys: Keys) -> None:
    """The hash of generated keys of any type in columns is that of each key."""
    columns = keys.columns
    assert hash_keys(columns, columns.columns).tolist() == keys.hashes


def test_physical_types_do_not_matter() -> None:
    """Equal numbers, times and decimals have one hash, whatever the width, the unit or the scale of their columns."""
    at, span = datetime(2024, 5, 6, tzinfo=UTC), timedelta(seconds=-3)
    same: dict[tuple[object, type], list[pl.DataType]] = {
        (7, int): [pl.Int8(), pl.UInt32(), pl.Int64()],
        (at, datetime): [pl.Datetime("ms", "UTC"), pl.Datetime("us", "UTC"), pl.Datetime("ns", "UTC")],
        (span, timedelta): [pl.Duration("ms"), pl.Duration("us")],
    }
    for (value, kind), types in same.items():
        for column in types:
            table = pl.DataFrame({"value": pl.Series([value]).cast(column)})
            assert hash_keys(table, ["value"]).tolist() == [key_hash(value, shape_of(kind))], column
    for decimal in (pl.Decimal(38, 18), pl.Decimal(10, 2)):
        table = pl.DataFrame({"value": pl.Series([7]).cast(decimal)})
        assert hash_keys(table, ["value"]).tolist() == [key_hash(7, DECIMAL)]


def test_many_keys_are_hashed_in_blocks() -> None:
    """Keys in slices of larger columns, in chunks and in several blocks have the hashes of each key."""
    texts = [f"{'x' * (number % 70)}{number}" for number in range(70_000)]
    shape = shape_of(tuple[str, int | None])
    keys = [(text, None if number % 3 else number) for number, text in enumerate(texts)]
    table = pl.DataFrame({"_1": texts, "_2": [number for _, number in keys]})
    table = pl.concat([table[:10], table[10:]], rechunk=False)
    hashes = hash_keys(table[5:], ["_1", "_2"]).tolist()
    assert [hashes[row - 5] for row in range(5, 70_000, 97)] == [
        key_hash(keys[row], shape) for row in range(5, 70_000, 97)
    ]
    assert len(set(hashes)) == len(hashes)


def test_keys_are_spread_evenly() -> None:
    """A shard has its share of consecutive numbers, and a key without parts is in the shard of the seed."""
    table = pl.DataFrame({"value": range(80_000)})
    sizes = shards_of(table, ["value"], 8).value_counts()["count"]
    assert len(sizes) == 8
    assert all(9_500 < size < 10_500 for size in sizes)
    assert shards_of(table[:2], [], 5).to_list() == [shard_number(SEED, 5)] * 2
    assert shard_number(-1, 5) == 4
