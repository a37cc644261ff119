"""Pipelines as values: the typed handles on them, and the nodes of the graph that they form.

A pipeline is written with the handles. An engine reads the nodes, and what they hold: a kind of join, and a view of a
side input.
"""

from flowalg.elementwise.failed import Failed
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.pcollection import PCollection, SideInput, flatten
from flowalg.pipeline.ptransform import PTransform, ptransform
from flowalg.pipeline.side_inputs import AsMap, LatestComplete, Singleton, View
from flowalg.pipeline.source import Source, sources

__all__ = [
    "AsMap",
    "CoGroupByKey",
    "CombinePerKey",
    "ElementWise",
    "Failed",
    "Flatten",
    "Hole",
    "JoinKind",
    "LatestComplete",
    "Node",
    "PCollection",
    "PTransform",
    "Process",
    "SideInput",
    "Singleton",
    "Source",
    "SourceNode",
    "View",
    "WindowInto",
    "WithMetadata",
    "WithSide",
    "flatten",
    "ptransform",
    "sources",
]
