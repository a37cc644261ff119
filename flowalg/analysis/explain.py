"""A pipeline as text: what each step gives, when each window comes out, and what can go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final, assert_never

from flowalg.analysis.hazards import hazards
from flowalg.data.shapes import Shape
from flowalg.lifting.analysis import StepAnalysis
from flowalg.pipeline.nodes import (
    CombinePerKey,
    ElementWise,
    Flatten,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
    shape_after,
)
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.side_inputs import AsMap
from flowalg.triggers.describe import describe, length_in_words
from flowalg.windows.strategy import Accumulation, AllowedLateness, WindowingStrategy


def explain(pipeline: PCollection[object]) -> str:
    """A pipeline from its sources on, a line for each step, with the type of what it gives and its hazards.

    Windows say when they come out. A function that Spark would not run as columns says why, and where in the code.
    """
    found = hazards(pipeline)
    return "\n".join((*_lines(pipeline.node), *(f"! {one}" for one in found)))


def _lines(node: Node) -> Iterator[str]:
    match node:
        case SourceNode(name=name, shape=shape):
            yield f"{name}: {shape}"
        case ElementWise(input=inner, analyses=analyses):
            yield from _lines(inner)
            yield from map(_step, analyses)
        case WindowInto(input=inner, strategy=strategy):
            yield from _lines(inner)
            yield f"> window({strategy.windows})"
            yield from (f"    {line}" for line in _strategy(strategy))
        case CombinePerKey(input=inner, label=label):
            yield from _lines(inner)
            yield f"> {label}: {_type(shape_after(node))}"
        case Flatten(inputs=inputs):
            yield "flatten"
            for inner in inputs:
                first, *rest = _lines(inner)
                yield f"  + {first}"
                yield from (f"    {line}" for line in rest)
        case WithSide(input=inner, side=side, view=view):
            yield from _lines(inner)
            kind = "mapping" if isinstance(view, AsMap) else "value"
            yield f"> beside the {kind} of: {_type(shape_after(node))}"
            yield from (f"    {line}" for line in _lines(side))
        case _:
            assert_never(node)


def _step(one: StepAnalysis) -> str:
    line = f"> {one.step.label}: {_type(one.after)}"
    if one.opaque is None:
        return line
    place = f", at {one.opaque.place}" if one.opaque.place else ""
    return f"{line} (in Python: {one.opaque.reason}{place})"


def _type(shape: Shape | None) -> str:
    return "of a type that only running it would tell" if shape is None else str(shape)


def _strategy(strategy: WindowingStrategy) -> Iterator[str]:
    yield f"fires {describe(strategy.trigger)}"
    yield f"each pane is {_MODES[strategy.accumulation]}"
    yield _lateness(strategy.allowed_lateness)


def _lateness(lateness: AllowedLateness | None) -> str:
    if not isinstance(lateness, timedelta):
        return "takes late elements for ever"
    if not lateness:
        return "takes no late elements"
    return f"takes late elements for {length_in_words(lateness)} of event time"


_MODES: Final = {
    Accumulation.DISCARDING: "what has come since the last one (discarding)",
    Accumulation.ACCUMULATING: "all that has come, in place of the last one (accumulating)",
    Accumulation.RETRACTING: "all that has come, after the last one was taken back (retracting)",
}


__all__ = ["explain"]
