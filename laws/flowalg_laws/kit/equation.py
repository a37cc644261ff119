"""Equations: the results of laws, and which equality each one means."""

from __future__ import annotations

from enum import Enum, unique
from typing import Generic, TypeVar

from attrs import field, frozen

A_co = TypeVar("A_co", covariant=True)


@unique
class Equality(Enum):
    """How the two sides of an equation are compared."""

    DEFAULT = "default"
    """As ``IN_CONTEXT`` if both sides are triggers, as ``EXACT`` otherwise."""

    EXACT = "exact"
    """By ``==``, triggers included."""

    IN_CONTEXT = "in context"
    """Triggers are equal if they emit the same panes and drops in every scenario, also as parts of other triggers."""

    WHOLE = "whole"
    """Triggers are equal if they emit the same panes and drops in every scenario as whole triggers."""


@frozen
class Equation(Generic[A_co]):
    """The two sides of a law for given inputs, and the equality that ``check_law`` compares them by.

    ``of_corrections`` says that two triggers are equal also where something upstream retracts.
    """

    left: A_co
    right: A_co
    equality: Equality = field(default=Equality.DEFAULT, kw_only=True)
    of_corrections: bool = field(default=True, kw_only=True)
