"""``flowalg what-if``: which watermark policy and allowed lateness to take, by recorded delays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from flowalg import KV, AllowedLateness, ArgumentError, Source, UnsupportedError, WatermarkPolicy
from flowalg.elementwise.steps import Filter, Map, Step, apply_step
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, Node, SourceNode, WindowInto
from flowalg_tools.cli.files import extra, read_table
from flowalg_tools.cli.inputs import paths, records_of, seen_times
from flowalg_tools.cli.names import pipeline_named
from flowalg_tools.cli.terminal import show, working

if TYPE_CHECKING:
    import pyarrow as pa

    from flowalg_tools.what_if import Records


@frozen
class Grid:
    """What to try; ``None`` is for a grid that is read off the delays."""

    policies: Sequence[WatermarkPolicy] | None
    lateness: Sequence[AllowedLateness] | None
    every: timedelta
    tick: timedelta | None


def tried(
    pipeline: str, given: str, seen: str, grid: Grid, output: Path | None, *, late: float, dropped: float
) -> None:
    """Print what each choice comes to for the elements of a source, and which one to take.

    The windows and the keys are those of the first grouping.
    """
    with extra("spark"):
        from flowalg_tools.what_if import what_if
    found = pipeline_named(pipeline)
    where = paths(found, [given])
    first = next((one for one in nodes_of(found.node) if isinstance(one, CombinePerKey)), None)
    if len(where) != 1 or first is None:
        raise ArgumentError("PIPELINE", pipeline, "a pipeline that groups what comes from one source")
    windows = first.windowed_by.strategy.windows
    steps = tuple(_steps(first.input))
    ((source, path),) = where.items()
    with working("trying"):
        records = _recorded(source, read_table(source, path, seen=seen), seen, steps)
        choices = what_if(
            records,
            windows,
            policies=grid.policies,
            lateness=grid.lateness,
            every=grid.every,
            tick=grid.tick,
        )
        advice = choices.recommendation(late=late, dropped=dropped)
    show(f"{len(records):,} records in {windows}\n\n{choices.table()}\n\n{advice}", {"*": "bold"})
    if output is not None:
        with working("drawing"):
            output.parent.mkdir(parents=True, exist_ok=True)
            choices.draw(output, recommendation=advice)
        show(f"\nThe picture is in {output}.")


def _steps(node: Node) -> Iterator[Step]:
    """What is done to an element of the source before it is grouped."""
    match node:
        case SourceNode():
            return
        case WindowInto(input=inner):
            yield from _steps(inner)
        case ElementWise(input=inner, steps=steps) if all(isinstance(one, Map | Filter) for one in steps):
            yield from _steps(inner)
            yield from steps
        case _:
            raise UnsupportedError(
                "what-if follows elements from their source to the first grouping through map and filter only: what "
                "flat_map, with_timestamps, flatten and side inputs make has no recorded times of its own"
            )


def _recorded(source: Source[object], table: pa.Table, seen: str, steps: Sequence[Step]) -> Records:
    """The records with both times, and the key of each; one that a filter drops moves the watermark only."""
    from flowalg_tools.what_if import Records

    elements = records_of(source, table)
    pairs = [_through(steps, one) for one in elements]
    return Records.of(
        [source.event_time_of(one) for one in elements],
        list(seen_times(table, seen, source.name)),
        keys=[one.key if isinstance(one, KV) else None for one in pairs],
        kept=[one is not None for one in pairs],
    )


def _through(steps: Sequence[Step], element: object) -> object | None:
    """What the steps make of an element; ``None`` if a filter drops it."""
    for step in steps:
        made = tuple(apply_step(step, element))
        if not made:
            return None
        (element,) = made
    return element


__all__ = ["Grid", "tried"]
