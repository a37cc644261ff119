"""Validators for the arguments of policies; messages name the policy and the argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeAlias

from attrs import Attribute

from flowalg.data.errors import ArgumentError
from flowalg.data.time import duration_of

# One validator serves fields of several types, so it accepts any attribute.
Validator: TypeAlias = Callable[[object, "Attribute[Any]", Any], None]


def duration_validator(*, allow_zero: bool, optional: bool = False) -> Validator:
    """Returns a validator for a positive duration; ``allow_zero`` admits zero, and ``optional`` admits ``None``."""

    def check(policy: object, attribute: Attribute[Any], value: timedelta | None) -> None:
        if value is not None or not optional:
            # Other values, None included, are rejected by duration_of.
            duration_of(_describe(policy, attribute), value, allow_zero=allow_zero)  # type: ignore[arg-type]

    return check


def predicate_validator(holds: Callable[[object], bool], valid: str) -> Validator:
    """Returns a validator for values for which ``holds`` is true; ``valid`` describes them in messages."""

    def check(policy: object, attribute: Attribute[Any], value: object) -> None:
        if not holds(value):
            raise ArgumentError(_describe(policy, attribute), value, valid)

    return check


def is_quantile(value: object) -> bool:
    """Returns whether a value is a float strictly between 0 and 1."""
    return isinstance(value, float) and 0 < value < 1


def are_quantiles(value: object) -> bool:
    """Returns whether a value is a tuple of distinct quantiles."""
    return isinstance(value, tuple) and all(map(is_quantile, value)) and len(set(value)) == len(value)


def are_names(value: object) -> bool:
    """Returns whether a value is a frozenset of names."""
    return isinstance(value, frozenset) and all(isinstance(name, str) for name in value)


NAMES = "a set of the names of partitions, such as {'north', 'south'}"
QUANTILE = "a float between 0 and 1, such as 0.99"
QUANTILES = "a tuple of distinct floats between 0 and 1, such as (0.9, 0.99)"


def _describe(policy: object, attribute: Attribute[Any]) -> str:
    return f"{type(policy).__name__}.{attribute.name}"
