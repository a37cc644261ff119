"""Spark batch: a bounded pipeline as relational algebra over DataFrames (SEMANTICS section 11).

A batch is one instant, so every window emits one pane, on time. ``compile`` returns a lazy DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final, TypeVar, assert_never, cast

from attrs import frozen
from flowalg_columns.names import PROCESSING_TIME
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import RecordOf
from flowalg.data.time import processing_time
from flowalg.pipeline.graph import Fold
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.outputs import emits_panes, require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import branches_of, last_grouping
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.run import Outputs, Run
from flowalg_spark.batch.groups import lower_grouping
from flowalg_spark.batch.joins import lower_co_group, lower_join, lower_side_input
from flowalg_spark.capabilities import BATCH
from flowalg_spark.expressions.integers import long_literal
from flowalg_spark.frames.drop_columns import drop_columns
from flowalg_spark.frames.pane_frame import (
    PaneFrame,
    collect_all,
    collect_output,
    drop_type,
    pane_frame,
    user_frame,
)
from flowalg_spark.lowering.binding import bind_source, require_bounded
from flowalg_spark.lowering.element_wise import apply_steps
from flowalg_spark.lowering.fan_out import fan_out
from flowalg_spark.lowering.filter_pushdown import push_down_filters
from flowalg_spark.lowering.flow import Flow, union
from flowalg_spark.lowering.metadata import pair_with_metadata
from flowalg_spark.lowering.py4j_cache import reduce_calls

A = TypeVar("A")

CAPABILITIES: Final = BATCH
"""The capabilities of this interpreter."""


def compile(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> PaneFrame[A]:
    """Returns the output of a pipeline over bounded frames, as a DataFrame: panes, or elements if it groups nothing.

    ``time`` is the processing time of the output; it defaults to the time at which the query runs. Raises
    ``UnboundSourceError``, ``SchemaMismatchError``, and ``UnsupportedError`` for features that batch lacks.

    Example::

        panes = batch.compile(totals, {scores: spark.read.parquet("scores")})
        panes.final_values().write.parquet("totals")
    """
    (frame,) = compile_all({"output": pipeline}, inputs, time=time).values()
    return frame


def compile_all(
    outputs: Mapping[str, PCollection[A]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> dict[str, PaneFrame[A]]:
    """Returns several named outputs over the same frames, as one DataFrame for each.

    ``inputs`` has the frame of each source of any of the outputs. A collection that outputs share is computed once in a
    query over several of the DataFrames. Each action of Spark is a separate query: to write several outputs of an
    expensive input, ``cache`` that input.

    Example::

        frames = batch.compile_all({"by team": by_team, "clean": clean}, {scores: spark.read.parquet("scores")})
        frames["clean"].write.parquet("clean")
    """
    known = require_outputs(outputs)
    frames = inputs_by_name(inputs, "frame", *(pipeline.node for pipeline in known.values()))
    clock = F.unix_micros(F.current_timestamp()) if time is None else long_literal(processing_time(time))
    lowering = _Lowering({name: require_bounded(name, frame) for name, frame in frames.items()}, clock)
    flow = Fold(lowering)
    with reduce_calls():
        return {
            name: cast("PaneFrame[A]", _compile_flow(pipeline, flow(pipeline.node), clock))
            for name, pipeline in known.items()
        }


def _compile_flow(pipeline: PCollection[object], flow: Flow, clock: Column) -> PaneFrame[object]:
    """Returns the output of a pipeline from its flow."""
    output = flow if emits_panes(pipeline.node) else flow.with_meta(**{PROCESSING_TIME: clock})
    return pane_frame(pipeline, output, partial(_with_empty_drops, output, pipeline.node))


def run(
    pipeline: PCollection[A], inputs: Mapping[AnySource, DataFrame], *, time: datetime | None = None
) -> Run[A]:
    """Returns the output of a pipeline over bounded frames as values, in order. It must fit in the driver's memory."""
    output = collect_output(pipeline, compile(pipeline, inputs, time=time))
    return Run(output.panes, (), elements=output.elements)


def run_all(
    outputs: Mapping[str, PCollection[object]],
    inputs: Mapping[AnySource, DataFrame],
    *,
    time: datetime | None = None,
) -> Outputs:
    """Returns several named outputs as values, as ``run`` does, by one query: what they share is computed once."""
    frames = compile_all(outputs, inputs, time=time)
    found = collect_all(list(outputs.values()), list(frames.values()))
    return Outputs(dict(zip(outputs, found, strict=True)), (), outputs)


def _with_empty_drops(flow: Flow, node: Node, *, metrics: bool) -> DataFrame:
    """Returns the output with a null ``drop``: a batch drops nothing, since its watermark advances once, at its end."""
    if metrics:
        raise UnsupportedError(
            "with_metrics: batch has no metrics; they are for streaming.compile(..., metrics=True)"
        )
    if not emits_panes(node):
        return user_frame(flow, *drop_columns(()), panes=False)
    return user_frame(flow, F.lit(None).cast(drop_type(_last_pair(node))).alias("drop"), panes=True)


def _last_pair(node: Node) -> RecordOf:
    """Returns the shape of the last grouping's pairs; raises ``UnsupportedError`` if the pipeline has no grouping."""
    shape = last_grouping(node).shape
    assert isinstance(shape, RecordOf)
    return shape


@frozen
class _Lowering:
    """Lowers the nodes of pipelines to flows. A node with several readers is lowered once."""

    frames: Mapping[str, DataFrame]
    time: Column

    def __call__(self, node: Node, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case SourceNode(name=name):
                return bind_source(node, self.frames[name], None)
            case Hole():
                raise node.refused()
            case WindowInto(input=inner):
                return flow(inner)
            case ElementWise():
                return self.chain(node.unsplit, flow)
            case WithMetadata(input=inner, metadata=metadata):
                return pair_with_metadata(flow(inner), metadata)
            case CombinePerKey(input=inner):
                return lower_grouping(node, flow(inner), self.time)
            case CoGroupByKey(inputs=inputs):
                return lower_co_group(node, tuple(map(flow, inputs)), self.time)
            case Flatten(inputs=inputs):
                return self.branches(node, flow) or union(tuple(map(flow, inputs)))
            case WithSide(input=inner, side=side):
                return lower_side_input(node, flow(inner), flow(side), ())
        assert_never(node)

    def branches(self, node: Flatten, flow: Fold[Node, Flow]) -> Flow | None:
        """Returns the flow of a flatten whose inputs are branches of one collection, if one pass can compute them."""
        found = branches_of(node)
        return fan_out(flow(found[0]), found[1]) if found else None

    def chain(self, node: ElementWise, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow after a chain of steps; some inputs are best lowered together with the steps after them."""
        match node:
            case ElementWise(
                input=CoGroupByKey(inputs=inputs, join=JoinKind() as kind) as grouping, steps=(_, *after)
            ):
                # The first step emits the pairs one by one, which a join does by itself.
                pairs = lower_join(grouping, kind, tuple(map(flow, inputs)), self.time)
                return apply_steps(pairs, tuple(after))
            case ElementWise(input=WithSide(input=inner, side=side) as reading, steps=steps):
                return lower_side_input(reading, flow(inner), flow(side), steps)
            case ElementWise(input=SourceNode(name=name) as source, steps=steps):
                frame = push_down_filters(source, self.frames[name], steps)
                return apply_steps(bind_source(source, frame, None), steps)
            case ElementWise(input=inner, steps=steps):
                return apply_steps(flow(inner), steps)


__all__ = ["CAPABILITIES", "compile", "compile_all", "run", "run_all"]
