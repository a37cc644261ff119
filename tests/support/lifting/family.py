"""What the families of cases are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from flowalg.data.shapes import Shape
from tests.support.lifting.rows import Edge

EdgeFunction: TypeAlias = Callable[[Edge], object]


@frozen
class Family:
    """Operations of one kind that are lifted, with what is to be said of their meaning and restrictions."""

    title: str
    notes: str
    functions: tuple[EdgeFunction, ...]


@frozen
class Left:
    """A function that is left to Python: the shape of its result, if syntax tells it, and words of the reason."""

    function: EdgeFunction
    shape: Shape | None
    reason: str
    why: str
