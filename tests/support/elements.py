"""Batches of elements, and the elements that an engine computes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from flowalg import Interpreter, PCollection, Source, Timeline, ToList
from tests.support.scores import NOON

A = TypeVar("A")


def bounded(*elements: A) -> Timeline[A]:
    """Returns the timeline of a batch."""
    return Timeline[A]().at(NOON, *elements).end(NOON)


def elements_of(
    engine: Interpreter, pipeline: PCollection[object], inputs: Mapping[Source[A], Timeline[A]]
) -> list[str]:
    """Returns the elements of a pipeline as text, in an order of their own."""
    panes = engine.run(pipeline.combine_globally(ToList()), inputs).panes
    return sorted(map(repr, panes[-1].element if panes else []))
