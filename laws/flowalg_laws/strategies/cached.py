"""Strategies that are made once for the same arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
B = TypeVar("B")


def kept(make: Callable[P, B]) -> Callable[P, B]:
    """``functools.cache``, without forgetting the types of the arguments."""
    return cast("Callable[P, B]", functools.cache(make))


__all__ = ["kept"]
