"""Key-value pairs: what key-wise transforms take and give (Dataflow Model, section 2.2)."""

from __future__ import annotations

from typing import Generic, TypeVar

from attrs import frozen

K_co = TypeVar("K_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)


@frozen
class KV(Generic[K_co, V_co]):
    """A key and a value. Keys of one grouping are compared by equality, so they may not hold floats."""

    key: K_co
    value: V_co


__all__ = ["KV"]
