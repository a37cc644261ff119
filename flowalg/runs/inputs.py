"""Which data a pipeline is run on: one input for each of its sources, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from flowalg.data.errors import ArgumentError, UnboundSourceError, format_value
from flowalg.pipeline.nodes import Node, SourceNode
from flowalg.pipeline.source import Source
from flowalg.pipeline.structure import sources_of
from flowalg.runs.timeline import Timeline

Input = TypeVar("Input")
# As a type variable, because a mapping is invariant in its keys: {flights: ...} may also be a variable of that type.
AnySource = TypeVar("AnySource", bound=Source[object])


def inputs_by_name(inputs: Mapping[AnySource, Input], kind: str, *roots: Node) -> dict[str, Input]:
    """Returns the input of each source of one pipeline or more by its name; ``kind`` is what messages call an input.

    Raises ``UnboundSourceError`` for a source without an input, and for an input without a source, and
    ``ArgumentError`` for a name that two different sources have.
    """
    if not isinstance(inputs, Mapping):
        raise ArgumentError("inputs", inputs, f"a mapping from sources to a {kind} each")
    wanted: dict[str, SourceNode] = {}
    for node in sources_of(*roots):
        other = wanted.setdefault(node.name, node)
        if other != node:
            part = "event time" if other.shape == node.shape else "record"
            why = f"the pipeline reads two sources of this name, which differ in their {part}"
            raise ArgumentError("Source.name", node.name, "the name of one source", why=why)
    bound: dict[str, Input] = {}
    for source, value in inputs.items():
        if isinstance(source, str) and source in wanted:
            why = "a name does not say what its records are"
            raise ArgumentError("a key of inputs", source, "the Source itself, and not its name", why=why)
        if not isinstance(source, Source) or source.node not in wanted.values():
            names = ", ".join(sorted(wanted))
            raise UnboundSourceError(
                f"inputs has {format_value(source)}, which the pipeline does not read; it reads {names}"
            )
        bound[source.name] = value
    for name in wanted:
        if name not in bound:
            raise UnboundSourceError(f"source {name!r} is not bound: pass inputs={{{name}: {kind}}}")
    return bound


def timelines_by_name(
    inputs: Mapping[AnySource, Timeline[object]], *roots: Node
) -> dict[str, Timeline[object]]:
    """Returns the timeline of each source of one pipeline or more by its name.

    Raises ``UnboundSourceError`` for a source without an input and for an input without a source, and
    ``ArgumentError`` for an input that is not a timeline.
    """
    timelines = inputs_by_name(inputs, "timeline", *roots)
    for name, timeline in timelines.items():
        if not isinstance(timeline, Timeline):
            raise ArgumentError(f"the input of source {name!r}", timeline, "a Timeline")
    return timelines
