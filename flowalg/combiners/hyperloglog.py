"""HyperLogLog as pure functions on bytes: the one place that touches the library, Apache DataSketches.

A sketch here is always what a *union* gives, in its 8-bit form, and so a function of the set of hashes alone. One
that was filled directly would also carry the library's historical estimate, which depends on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Final, Protocol, cast

from flowalg.data.errors import MissingExtraError

SMALLEST_LG_K: Final = 7
LARGEST_LG_K: Final = 21


class _Sketch(Protocol):
    def update(self, datum: int) -> None: ...
    def get_estimate(self) -> float: ...
    def serialize_compact(self) -> bytes: ...


class _Sketches(Protocol):
    def __call__(self, lg_k: int, tgt_type: object, start_max_size: bool) -> _Sketch: ...
    def deserialize(self, bytes: bytes) -> _Sketch: ...
    def get_rel_err(self, upper_bound: bool, unioned: bool, lg_k: int, num_std_devs: int) -> float: ...


class _Union(Protocol):
    def update(self, sketch: _Sketch) -> None: ...
    def get_result(self, tgt_type: object) -> _Sketch: ...


class _Unions(Protocol):
    def __call__(self, lg_max_k: int) -> _Union: ...


class _Library(Protocol):
    """The part of ``datasketches`` that is used; the package has no types of its own."""

    HLL_8: object

    @property
    def hll_sketch(self) -> _Sketches: ...
    @property
    def hll_union(self) -> _Unions: ...


@cache
def library() -> _Library:
    """The library; raises ``MissingExtraError`` where it is not installed."""
    try:
        return cast("_Library", import_module("datasketches"))
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            "ApproximateDistinct needs the package datasketches: install flowalg[sketches]"
        ) from missing


def relative_standard_error(lg_k: int) -> float:
    """The relative standard error of a sketch with ``2**lg_k`` registers, as the library states it."""
    return abs(library().hll_sketch.get_rel_err(True, True, lg_k, 1))


def sketch_of(hashes: Iterable[int], lg_k: int) -> bytes:
    """The sketch of some hashes, 64-bit signed integers and at least one, with ``2**lg_k`` registers."""
    filled = library().hll_sketch(lg_k, library().HLL_8, True)
    for hash_ in hashes:
        filled.update(hash_)
    return _joined(lg_k, filled)


def with_hashes(sketch: bytes, hashes: Iterable[int]) -> bytes:
    """The sketch with more hashes."""
    filled = library().hll_sketch.deserialize(sketch)
    for hash_ in hashes:
        filled.update(hash_)
    return filled.serialize_compact()


def merged(one: bytes, other: bytes, lg_k: int) -> bytes:
    """The sketch of the hashes of both. Law: associative, commutative and idempotent, to the byte."""
    load = library().hll_sketch.deserialize
    return _joined(lg_k, load(one), load(other))


def estimate(sketch: bytes) -> float:
    """About how many different hashes the sketch has seen."""
    return library().hll_sketch.deserialize(sketch).get_estimate()


def _joined(lg_k: int, *sketches: _Sketch) -> bytes:
    union = library().hll_union(lg_k)
    # The first sketch is copied as it stands; it takes a second one, be it the same, to make a union of it.
    for sketch in (*sketches, *sketches):
        union.update(sketch)
    return union.get_result(library().HLL_8).serialize_compact()


__all__ = [
    "LARGEST_LG_K",
    "SMALLEST_LG_K",
    "estimate",
    "library",
    "merged",
    "relative_standard_error",
    "sketch_of",
    "with_hashes",
]
