"""Keys of many types with their hashes: the test vectors of the page on state, and generated ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl
from attrs import frozen
from flowalg_columns.layout import layout_of, leaf_columns
from flowalg_columns.values import write_arrays
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from returns.maybe import Maybe, Nothing, Some

from flowalg import KV
from flowalg.data import shapes
from flowalg.data.shapes import Shape, shape_of
from flowalg.data.values import conform
from flowalg.runs.placement import key_hash

PAGE: Final = Path(__file__).parents[2] / "docs" / "state.md"


class Colour(Enum):
    """An enumeration of the test vectors and of generated keys."""

    RED = "r"
    GREEN = "g"


@frozen
class Model:
    """A member of a sum."""

    name: str
    size: int | None


@frozen
class Tally:
    """Another member of a sum."""

    size: int


@frozen
class Keys:
    """Keys of one type."""

    shape: Shape
    keys: tuple[object, ...]

    @property
    def hashes(self) -> list[int]:
        """The hash of each key by its definition."""
        return [key_hash(key, self.shape) for key in self.keys]

    @property
    def columns(self) -> pl.DataFrame:
        """The keys in the columns of their layout."""
        layout = layout_of(self.shape)
        arrays = write_arrays(layout, list(self.keys), "keys")
        names = leaf_columns(layout)
        return pl.DataFrame([pl.Series(name, array) for name, array in zip(names, arrays, strict=True)])


def vectors() -> list[tuple[Keys, int]]:
    """Returns the test vectors of the page: keys and their hashes."""
    names: Mapping[str, object] = {
        part.__name__: part for part in (datetime, date, timedelta, Decimal, Colour, KV, Maybe, Some)
    } | {"UTC": UTC}
    rows = re.findall(r"^\| `(.+)` \| `(.+)` \| (-?\d+) \|$", PAGE.read_text(), re.MULTILINE)
    return [
        (Keys(shape_of(eval(kind.replace("\\", ""), dict(names))), (eval(key, dict(names)),)), int(hashed))
        for kind, key, hashed in rows
    ]


_Values: TypeAlias = tuple[Shape, SearchStrategy[Any]]
"""A shape, and a strategy of its values, which are hashable."""

_SCALARS: Final[tuple[_Values, ...]] = (
    (shapes.BOOLEAN, st.booleans()),
    (shapes.INTEGER, st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)),
    (shapes.FLOAT, st.floats() | st.sampled_from([-0.0, 0.0])),
    (shapes.TEXT, st.text(st.characters(exclude_categories=["Cs"]), max_size=80)),
    (shapes.BINARY, st.binary(max_size=150)),
    (shapes.TIMESTAMP, st.datetimes(timezones=st.just(UTC))),
    (shapes.DAY, st.dates()),
    (shapes.DURATION, st.integers(-(2**63), 2**63 - 1).map(lambda micros: timedelta(microseconds=micros))),
    (
        shapes.DECIMAL,
        st.integers(1 - 10**38, 10**38 - 1).map(lambda unscaled: Decimal(f"{unscaled}E-18"))
        | st.integers(-300, 300).map(Decimal),
    ),
    (shapes.EnumOf(Colour), st.sampled_from(Colour)),
    (
        shape_of(Model | Tally | int),
        st.builds(Model, st.text("ab", max_size=3), st.none() | st.integers(-2, 2))
        | st.builds(Tally, st.integers(-2, 2))
        | st.integers(-2, 2),
    ),
)


def _optional(inner: _Values) -> _Values:
    shape, values = inner
    return inner if isinstance(shape, shapes.Nullable) else (shapes.optional(shape), st.none() | values)


def _maybe(inner: _Values) -> _Values:
    shape, values = inner
    if isinstance(shape, shapes.Nullable):
        return inner
    return shapes.MaybeOf(shape), st.just(Nothing) | values.map(Some)


def _set(inner: _Values) -> _Values:
    shape, values = inner
    return shapes.SetOf(shape), st.frozensets(values, max_size=4)


def _tuple(inner: list[_Values]) -> _Values:
    return shapes.TupleOf(tuple(shape for shape, _ in inner)), st.tuples(*(values for _, values in inner))


def _pair(key: _Values, value: _Values) -> _Values:
    return shapes.kv_of(key[0], value[0]), st.builds(KV, key[1], value[1])


def _nested(inner: SearchStrategy[_Values]) -> SearchStrategy[_Values]:
    return st.one_of(
        inner.map(_optional),
        inner.map(_maybe),
        inner.map(_set),
        st.lists(inner, min_size=1, max_size=3).map(_tuple),
        st.builds(_pair, inner, inner),
    )


def _with_lists(values: _Values) -> SearchStrategy[_Values]:
    """Values in lists and mappings too, which no key of a grouping has."""
    shape, own = values
    pairs = st.dictionaries(st.text("ab", max_size=2), own, max_size=3)
    return st.sampled_from(
        [
            values,
            values,
            (shapes.ListOf(shape), st.lists(own, max_size=40)),
            (shapes.MapOf(shapes.TEXT, shape), pairs),
        ]
    )


def _drawn(values: _Values) -> SearchStrategy[Keys]:
    shape, own = values
    normal = own.map(lambda value: conform(value, shape, "a key"))
    return st.lists(normal, min_size=1, max_size=6).map(lambda keys: Keys(shape, tuple(keys)))


def generated_keys() -> SearchStrategy[Keys]:
    """Keys of any type in normal form, several of one type."""
    types = st.recursive(st.sampled_from(_SCALARS), _nested, max_leaves=6)
    return types.flatmap(_with_lists).flatmap(_drawn)
