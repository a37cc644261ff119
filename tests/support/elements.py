"""Batches of elements, and the elements that an engine computes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from flowalg import Interpreter, Pane, PCollection, Source, Timeline, ToList
from tests.support.scores import NOON

A = TypeVar("A")


def bounded(*elements: A) -> Timeline[A]:
    """Returns the timeline of a batch."""
    return Timeline[A]().at(NOON, *elements).end(NOON)


def elements_of(
    engine: Interpreter, pipeline: PCollection[object], inputs: Mapping[Source[A], Timeline[A]]
) -> list[str]:
    """Returns the elements of a pipeline as text, in an order of their own."""
    return _texts(engine.run(pipeline.combine_globally(ToList()), inputs).panes)


def elements_of_all(
    engine: Interpreter,
    pipelines: Mapping[str, PCollection[object]],
    inputs: Mapping[Source[A], Timeline[A]],
) -> dict[str, list[str]]:
    """Returns the same of several pipelines, which are outputs of one run."""
    lists = {name: pipeline.combine_globally(ToList()) for name, pipeline in pipelines.items()}
    outputs = engine.run(lists, inputs)
    return {name: _texts(outputs[lists[name]].panes) for name in lists}


def _texts(panes: Sequence[Pane[list[object]]]) -> list[str]:
    return sorted(map(repr, panes[-1].element if panes else []))
