"""Pipelines as values: nodes, the graph that they form, and the typed handles on them."""

from flowalg.pipeline.pcollection import PCollection, SideInput, flatten
from flowalg.pipeline.ptransform import PTransform, ptransform
from flowalg.pipeline.source import Source, sources

__all__ = ["PCollection", "PTransform", "SideInput", "Source", "flatten", "ptransform", "sources"]
