"""Equations: the results of laws."""

from __future__ import annotations

from typing import Generic, TypeVar

from attrs import frozen

A_co = TypeVar("A_co", covariant=True)


@frozen
class Equation(Generic[A_co]):
    """The two sides of a law for given inputs. The caller chooses the equality that compares them."""

    left: A_co
    right: A_co


__all__ = ["Equation"]
