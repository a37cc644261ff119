"""The record of an exception that ``try_map`` keeps."""

from __future__ import annotations

from typing import Generic, TypeVar

from attrs import frozen

A_co = TypeVar("A_co", covariant=True)


@frozen
class Failed(Generic[A_co]):
    """An element at which a function raised an exception: the element, the class of the exception, and its message."""

    element: A_co
    exception: str
    message: str
