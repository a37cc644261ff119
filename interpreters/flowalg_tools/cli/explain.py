"""``flowalg explain``: a pipeline before it runs."""

from __future__ import annotations

from collections.abc import Iterator

from flowalg import PCollection, explain
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import ElementWise
from flowalg_tools.cli.names import load_pipeline
from flowalg_tools.cli.terminal import show

_STYLES = {"!": "yellow", ">": "bold", "fires": "cyan", "each pane is": "cyan", "takes": "cyan"}


def explain_pipeline(pipeline: str) -> None:
    """Prints the steps of a pipeline, its hazards, and how many of its functions run inside the engines."""
    loaded = load_pipeline(pipeline)
    show(explain(loaded), _STYLES)
    show(_count_lifted(loaded))


def _count_lifted(pipeline: PCollection[object]) -> str:
    functions = list(_are_lifted(pipeline))
    lifted = sum(functions)
    if lifted == len(functions):
        return f"Functions of steps: all {lifted} run inside the engines, as columns."
    return f"Functions of steps: {lifted} run inside the engines, as columns, and {len(functions) - lifted} in Python."


def _are_lifted(pipeline: PCollection[object]) -> Iterator[bool]:
    for node in nodes_of(pipeline.node):
        if isinstance(node, ElementWise):
            yield from (analysis.opaque is None for analysis in node.analyses)
