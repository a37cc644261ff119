"""What the arguments of a policy must be; messages name the policy and the argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeAlias

from attrs import Attribute

from flowalg.data.errors import ArgumentError
from flowalg.data.time import duration_of

# A validator that serves fields of several types: what the value is, it finds out.
Validator: TypeAlias = Callable[[object, "Attribute[Any]", Any], None]


def duration(*, allow_zero: bool, optional: bool = False) -> Validator:
    """A duration that is positive (or, with ``allow_zero``, not negative); with ``optional`` it may be ``None``."""

    def check(policy: object, attribute: Attribute[Any], value: timedelta | None) -> None:
        if value is not None or not optional:
            # What is no duration is refused with its value, None included.
            duration_of(_named(policy, attribute), value, allow_zero=allow_zero)  # type: ignore[arg-type]

    return check


def satisfying(holds: Callable[[object], bool], valid: str) -> Validator:
    """A value for which ``holds`` is true; ``valid`` says so in words."""

    def check(policy: object, attribute: Attribute[Any], value: object) -> None:
        if not holds(value):
            raise ArgumentError(_named(policy, attribute), value, valid)

    return check


def is_quantile(value: object) -> bool:
    """Whether a value is a float strictly between 0 and 1."""
    return isinstance(value, float) and 0 < value < 1


def are_quantiles(value: object) -> bool:
    """Whether a value is a tuple of different quantiles."""
    return isinstance(value, tuple) and all(map(is_quantile, value)) and len(set(value)) == len(value)


QUANTILE = "a float between 0 and 1, such as 0.99"
QUANTILES = "a tuple of different floats between 0 and 1, such as (0.9, 0.99)"


def _named(policy: object, attribute: Attribute[Any]) -> str:
    return f"{type(policy).__name__}.{attribute.name}"


__all__ = ["QUANTILE", "QUANTILES", "are_quantiles", "duration", "is_quantile", "satisfying"]
