"""The placement of keys on shards, by a hash of their canonical bytes, which engines compute in columns.

The hash is XXH64, chained over the parts of a key: the hash of a part is the seed of the next one. It is what Spark's
function ``xxhash64`` computes of the columns of the key. Equal keys have equal hashes, on every engine, machine and
version. Different keys may have the same hash, which affects only how evenly keys are spread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from enum import Enum
from math import isnan, nan
from struct import pack, unpack
from typing import Final, assert_never, cast

from returns.maybe import Maybe

from flowalg.data import shapes
from flowalg.data.kv import KV
from flowalg.data.time import EPOCH, MICROSECOND
from flowalg.data.values import sort_key

PLACEMENT: Final = "xxh64-1"
"""The name of the hash and of its version, which a checkpoint has. Any change of ``key_hash`` changes it."""

SEED: Final = 42
"""The hash of a key without parts, and the seed of the first part."""

PRIMES: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
"""The constants of XXH64, in its order."""

_MASK: Final = (1 << 64) - 1
_EXACT: Final = Context(prec=2 * shapes.DECIMAL_PRECISION)


def shard_number(key_hash: int, shards: int) -> int:
    """Returns the number of the shard, from 0, of the keys with a hash."""
    return key_hash % shards


def key_hash(key: object, shape: shapes.Shape) -> int:
    """Returns the hash of a key of a shape, in its normal form, as a signed integer of 64 bits."""
    digest = SEED
    for part in canonical_parts(key, shape):
        digest = xxh64(part, digest)
    return digest - (digest >> 63 << 64)


def canonical_parts(value: object, shape: shapes.Shape) -> Iterator[bytes]:
    """Yields the bytes of each part of a value, in order. A missing value has none."""
    match shape:
        case shapes.Scalar():
            yield _scalar_bytes(value, shape)
        case shapes.OptionalOf(of=inner):
            if value is not None:
                yield from canonical_parts(value, inner)
        case shapes.MaybeOf(of=inner):
            yield from canonical_parts(cast("Maybe[object]", value).value_or(None), shapes.optional(inner))
        case shapes.EnumOf():
            yield cast("Enum", value).name.encode()
        case shapes.ListOf(of=inner):
            for item in cast("list[object]", value):
                yield from canonical_parts(item, inner)
        case shapes.SetOf(of=inner):
            for item in sorted(cast("frozenset[object]", value), key=sort_key):
                yield from canonical_parts(item, inner)
        case shapes.MapOf():
            pairs = cast("Mapping[object, object]", value)
            for name in sorted(pairs, key=sort_key):
                yield from canonical_parts(KV(name, pairs[name]), shape.item)
        case shapes.TupleOf(items=items):
            for item, item_shape in zip(cast("tuple[object, ...]", value), items, strict=True):
                yield from canonical_parts(item, item_shape)
        case shapes.RecordOf(fields=fields):
            for field in fields:
                yield from canonical_parts(getattr(value, field.attribute), field.shape)
        case shapes.SumOf(members=members):
            position = shape.position(value)
            assert position is not None, "the value is of the sum"
            yield from canonical_parts(value, members[position].shape)
        case _:
            assert_never(shape)


def _scalar_bytes(value: object, shape: shapes.Scalar) -> bytes:
    match value:
        case float() | int() if shape == shapes.FLOAT:
            return pack("<d", nan if isnan(value) else value + 0.0)
        case Decimal() | int() if shape == shapes.DECIMAL:
            unscaled = int(Decimal(value).scaleb(shapes.DECIMAL_SCALE, _EXACT))
            return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)
        case bool():
            return pack("<i", value)
        case int():
            return pack("<q", value)
        case str():
            return value.encode()
        case bytes():
            return value
        case datetime():
            return pack("<q", (value - EPOCH) // MICROSECOND)
        case date():
            return pack("<i", (value - EPOCH.date()).days)
        case timedelta():
            return pack("<q", value // MICROSECOND)
        case _:
            raise AssertionError(f"a value of another shape: {value!r}")


def xxh64(data: bytes, seed: int) -> int:
    """Returns the XXH64 of bytes, as an unsigned integer."""
    prime1, prime2, prime3, prime4, prime5 = PRIMES
    start = len(data) & ~31
    if start:
        lanes = [seed + prime1 + prime2, seed + prime2, seed, seed - prime1]
        for offset in range(0, start, 32):
            words = unpack("<4Q", data[offset : offset + 32])
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
        digest = sum(_rotate(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            digest = (digest ^ _round(0, lane)) * prime1 + prime4
    else:
        digest = seed + prime5
    digest += len(data)
    for offset in range(start, len(data) & ~7, 8):
        (word,) = unpack("<Q", data[offset : offset + 8])
        digest = _rotate(digest ^ _round(0, word), 27) * prime1 + prime4
    if len(data) & 4:
        (word,) = unpack("<I", data[len(data) & ~7 :][:4])
        digest = _rotate(digest ^ word * prime1, 23) * prime2 + prime3
    for byte in data[len(data) & ~3 :]:
        digest = _rotate(digest ^ byte * prime5, 11) * prime1
    digest &= _MASK
    digest = (digest ^ digest >> 33) * prime2 & _MASK
    digest = (digest ^ digest >> 29) * prime3 & _MASK
    return digest ^ digest >> 32


def _round(lane: int, word: int) -> int:
    return _rotate(lane + word * PRIMES[1], 31) * PRIMES[0]


def _rotate(word: int, turn: int) -> int:
    word &= _MASK
    return (word << turn | word >> 64 - turn) & _MASK
