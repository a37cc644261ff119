"""Event times, windows and panes of elements, as operations: each is the method of ``PCollection`` of its name."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from attrs import frozen

from flowalg.data.metadata import PaneTiming, WindowBounds
from flowalg.pipeline.pcollection import PCollection
from flowalg.transforms.operation import one

A = TypeVar("A")


@frozen
class WithEventTime:
    """``with_event_time()`` as an operation."""

    def __call__(self, collection: PCollection[A], /) -> PCollection[tuple[A, datetime]]:
        """Returns the elements with their event times."""
        return one(self, collection).with_event_time()


@frozen
class WithWindow:
    """``with_window()`` as an operation."""

    def __call__(self, collection: PCollection[A], /) -> PCollection[tuple[A, WindowBounds]]:
        """Returns the elements with their windows."""
        return one(self, collection).with_window()


@frozen
class WithPane:
    """``with_pane()`` as an operation."""

    def __call__(self, collection: PCollection[A], /) -> PCollection[tuple[A, PaneTiming]]:
        """Returns the elements with the timing of their panes."""
        return one(self, collection).with_pane()
