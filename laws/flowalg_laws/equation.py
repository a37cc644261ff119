"""What a law returns: two sides that should be equal."""

from __future__ import annotations

from typing import Generic, TypeVar

from attrs import frozen

A = TypeVar("A")


@frozen
class Equation(Generic[A]):
    """The two sides of a law for some inputs; the equality to judge them by is the caller's."""

    left: A
    right: A


__all__ = ["Equation"]
