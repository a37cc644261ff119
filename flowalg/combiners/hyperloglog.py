"""HyperLogLog as pure functions on bytes: the only module that uses the library Apache DataSketches.

Every sketch here is the result of a *union*, in the 8-bit format, and so depends only on the set of hashes. A sketch
that is updated directly also stores the HIP estimate of the library, which depends on the order of the updates.
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
    """The used part of ``datasketches``, which has no type annotations."""

    HLL_8: object

    @property
    def hll_sketch(self) -> _Sketches: ...
    @property
    def hll_union(self) -> _Unions: ...


@cache
def library() -> _Library:
    """Returns the library; raises ``MissingExtraError`` if it is not installed."""
    try:
        return cast("_Library", import_module("datasketches"))
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            "ApproximateDistinct needs the package datasketches: pip install 'flowalg[sketches]'"
        ) from missing


def relative_standard_error(lg_k: int) -> float:
    """Returns the relative standard error of a sketch with ``2**lg_k`` registers, as the library documents it."""
    return abs(library().hll_sketch.get_rel_err(True, True, lg_k, 1))


def sketch(hashes: Iterable[int], lg_k: int) -> bytes:
    """Returns a sketch of hashes, one or more 64-bit signed integers, with ``2**lg_k`` registers."""
    filled = library().hll_sketch(lg_k, library().HLL_8, True)
    for hash_ in hashes:
        filled.update(hash_)
    return _union(lg_k, filled)


def add_hashes(sketch: bytes, hashes: Iterable[int]) -> bytes:
    """Returns the sketch with more hashes."""
    filled = library().hll_sketch.deserialize(sketch)
    for hash_ in hashes:
        filled.update(hash_)
    return filled.serialize_compact()


def merge(left: bytes, right: bytes, lg_k: int) -> bytes:
    """Returns the sketch of the hashes of both. Law: associative, commutative and idempotent, byte for byte."""
    load = library().hll_sketch.deserialize
    return _union(lg_k, load(left), load(right))


def estimate(sketch: bytes) -> float:
    """Returns the estimated number of distinct hashes."""
    return library().hll_sketch.deserialize(sketch).get_estimate()


def _union(lg_k: int, *sketches: _Sketch) -> bytes:
    union = library().hll_union(lg_k)
    # A union copies its first sketch unchanged. A second update, even with the same sketch, makes it a true union.
    for sketch in (*sketches, *sketches):
        union.update(sketch)
    return union.get_result(library().HLL_8).serialize_compact()
