"""``flowalg what-if``: recommends a watermark policy and an allowed lateness from recorded delays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from flowalg import KV, Source
from flowalg.elementwise.steps import Filter, Map, Step, apply_step
from flowalg.errors import ArgumentError, UnsupportedError
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, Node, SourceNode, WindowInto
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import AllowedLateness
from flowalg_tools.cli.files import read_table, require_extra
from flowalg_tools.cli.inputs import bind_paths, errors_in, read_records, read_times
from flowalg_tools.cli.names import load_pipeline
from flowalg_tools.cli.terminal import show, spinner

if TYPE_CHECKING:
    import pyarrow as pa

    from flowalg_tools.what_if import RecordedDelays


@frozen
class Grid:
    """The choices to evaluate; ``None`` means a grid derived from the delays."""

    policies: Sequence[WatermarkPolicy] | None
    lateness: Sequence[AllowedLateness] | None
    every: timedelta
    tick: timedelta | None


def recommend(
    pipeline: str,
    records_path: str,
    processing_time: str,
    grid: Grid,
    output: Path | None,
    *,
    late: float,
    dropped: float,
) -> None:
    """Prints the results of each choice for the records of a source, and a recommendation.

    The windows and the keys are those of the first grouping.
    """
    with require_extra("polars"):
        from flowalg_tools.what_if import what_if
    loaded = load_pipeline(pipeline)
    paths = bind_paths(loaded, [records_path])
    first = next((node for node in nodes_of(loaded.node) if isinstance(node, CombinePerKey)), None)
    if len(paths) != 1 or first is None:
        raise ArgumentError("PIPELINE", pipeline, "a pipeline with one source and a grouping")
    windows = first.windowed_by.strategy.windows
    steps = tuple(_steps(first.input))
    ((source, path),) = paths.items()
    with spinner("evaluating the choices"):
        table = read_table(source, path, processing_time)
        records = _records(source, table, path, processing_time, steps)
        choices = what_if(
            records,
            windows,
            policies=grid.policies,
            lateness=grid.lateness,
            every=grid.every,
            tick=grid.tick,
        )
        advice = choices.recommendation(late=late, dropped=dropped)
    show(
        f"{len(records):,} records of {first.label} in {windows}\n\n{choices.table()}\n\n{advice}",
        {"*": "bold"},
    )
    if output is not None:
        with spinner("drawing"):
            output.parent.mkdir(parents=True, exist_ok=True)
            choices.draw(output, recommendation=advice)
        show(f"\nThe picture is in {output}.")


def _steps(node: Node) -> Iterator[Step]:
    """The element-wise steps between the source and the grouping."""
    match node:
        case SourceNode():
            return
        case WindowInto(input=inner):
            yield from _steps(inner)
        case ElementWise(input=inner, steps=steps) if all(isinstance(step, Map | Filter) for step in steps):
            yield from _steps(inner)
            yield from steps
        case _:
            raise UnsupportedError(
                "what-if supports only map and filter between the source and the first grouping: the results of "
                "flat_map, with_timestamps, flatten and side inputs have no recorded times"
            )


def _records(
    source: Source[object], table: pa.Table, path: Path, processing_time: str, steps: Sequence[Step]
) -> RecordedDelays:
    """Returns the records with their key and both times; a record that a filter drops only advances the watermark."""
    from flowalg_tools.what_if import RecordedDelays

    records = read_records(source, table, path)
    with errors_in(path):
        points = list(read_times(table, processing_time, source.name))
    elements = [_apply_steps(steps, record) for record in records]
    return RecordedDelays.of(
        [source.event_time_of(record, point) for record, point in zip(records, points, strict=True)],
        points,
        keys=[element.key if isinstance(element, KV) else None for element in elements],
        kept=[element is not None for element in elements],
    )


def _apply_steps(steps: Sequence[Step], element: object) -> object | None:
    """Returns the result of the steps for an element; ``None`` if a filter drops it."""
    for step in steps:
        values = tuple(apply_step(step, element))
        if not values:
            return None
        (element,) = values
    return element
