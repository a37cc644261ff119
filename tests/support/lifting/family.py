"""The cases of lifting: families of functions that are lifted, and functions that stay in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from flowalg.data.shapes import Shape
from tests.support.lifting.rows import Edge

EdgeFunction: TypeAlias = Callable[[Edge], object]


@frozen
class Family:
    """Operations of one kind that are lifted, with notes on their meaning and restrictions."""

    title: str
    notes: str
    functions: tuple[EdgeFunction, ...]


@frozen
class NotLifted:
    """A function that stays in Python, with the known shape of its result, a part of the reason, and an explanation."""

    function: EdgeFunction
    shape: Shape | None
    reason: str
    why: str
