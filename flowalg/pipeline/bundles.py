"""Products of collections: a bundle is a collection, or a tuple of bundles, also a named one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar, cast

T = TypeVar("T")
U = TypeVar("U")

Nested: TypeAlias = "T | tuple[Nested[T], ...]"
"""A value, or a tuple of nested values."""


def leaves(nested: Nested[T]) -> Iterator[T]:
    """Yields the values of a nested tuple, from left to right."""
    if isinstance(nested, tuple):
        for part in nested:
            yield from leaves(part)
    else:
        yield nested


def nested_like(nested: Nested[T], values: Iterable[U]) -> Nested[U]:
    """Returns a nested tuple of the same form with other values. A named tuple keeps its class."""
    rest = iter(values)

    def built(part: Nested[T]) -> Nested[U]:
        if not isinstance(part, tuple):
            return next(rest)
        parts = tuple(built(inner) for inner in part)
        make = getattr(type(part), "_make", None)
        return cast("Nested[U]", make(parts)) if callable(make) else parts

    return built(nested)
