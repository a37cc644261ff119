"""What a law returns: two sides that should be equal."""

from __future__ import annotations

from typing import Generic, TypeVar

from attrs import frozen

A_co = TypeVar("A_co", covariant=True)


@frozen
class Equation(Generic[A_co]):
    """The two sides of a law for some inputs; the equality to judge them by is the caller's."""

    left: A_co
    right: A_co


__all__ = ["Equation"]
