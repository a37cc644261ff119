"""``flowalg explain``: a pipeline before it runs."""

from __future__ import annotations

from collections.abc import Iterator

from flowalg import PCollection, explain
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import ElementWise
from flowalg_tools.cli.names import pipeline_named
from flowalg_tools.cli.terminal import show

_STYLES = {"!": "yellow", ">": "bold", "fires": "cyan", "each pane is": "cyan", "takes": "cyan"}


def explained(pipeline: str) -> None:
    """Print what a pipeline is, its hazards, and how its functions run."""
    found = pipeline_named(pipeline)
    show(explain(found), _STYLES)
    show(_functions(found))


def _functions(pipeline: PCollection[object]) -> str:
    lifted = list(_lifted(pipeline))
    inside = sum(lifted)
    if inside == len(lifted):
        return f"Functions of steps: all {inside} run inside Spark, as columns."
    return f"Functions of steps: {inside} run inside Spark, as columns, and {len(lifted) - inside} in Python."


def _lifted(pipeline: PCollection[object]) -> Iterator[bool]:
    for node in nodes_of(pipeline.node):
        if isinstance(node, ElementWise):
            yield from (one.opaque is None for one in node.analyses)


__all__ = ["explained"]
