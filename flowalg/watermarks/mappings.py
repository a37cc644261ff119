"""Merging of mappings and of optional points in time, by which the parts of a summary merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from flowalg.data.time import EventTime, ProcessingTime

K = TypeVar("K")
V = TypeVar("V")
Point = TypeVar("Point", EventTime, ProcessingTime)


def later(first: Point | None, second: Point | None) -> Point | None:
    """Returns the later of two points in time; ``None`` is earlier than all points."""
    if first is None or second is None:
        return second if first is None else first
    return max(first, second)


def merge_mappings(first: Mapping[K, V], second: Mapping[K, V], merge: Callable[[V, V], V]) -> dict[K, V]:
    """Returns the union of two mappings; ``merge`` joins the values of common keys."""
    union = dict(first)
    for key, value in second.items():
        union[key] = merge(union[key], value) if key in union else value
    return union
