"""Strategies that are built once for the same arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
B = TypeVar("B")


def cached(make: Callable[P, B]) -> Callable[P, B]:
    """``functools.cache`` with the types of the arguments preserved."""
    return cast("Callable[P, B]", functools.cache(make))
