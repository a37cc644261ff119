"""A sum of two records, odd and even numbers, into which pairs go and from which they come back."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from flowalg import KV


@frozen
class Odd:
    """An odd value of a key."""

    key: str
    value: int


@frozen
class Even:
    """An even value of a key: its half. Its fields have the other order."""

    half: int
    key: str


Number: TypeAlias = Odd | Even
"""An odd or an even value of a key."""


def number_of(pair: KV[str, int]) -> Number:
    """Returns a pair as one or the other."""
    return Odd(pair.key, pair.value) if pair.value % 2 else Even(pair.value // 2, pair.key)


def pair_of(number: Number) -> KV[str, int]:
    """Returns the pair: the inverse of ``number_of``."""
    match number:
        case Odd(key=key, value=value):
            return KV(key, value)
        case Even(half, key):
            return KV(key, 2 * half)
