"""``flowalg draw``: the picture of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import flowalg_reference as reference

from flowalg.errors import ArgumentError
from flowalg_tools.cli.inputs import TimelineOptions, read_timelines
from flowalg_tools.cli.literals import parse_key
from flowalg_tools.cli.names import load_pipeline
from flowalg_tools.cli.terminal import show, spinner
from flowalg_tools.cli.why import key_shape


def draw_pipeline(
    pipeline: str,
    inputs: Sequence[str],
    output: Path,
    options: TimelineOptions,
    *,
    key: str | None,
    progress: bool,
    title: str | None,
) -> None:
    """Runs a pipeline in the reference interpreter and draws the run."""
    from flowalg_tools.pictures import draw_progress, draw_run

    if progress and key is not None:
        raise ArgumentError("--key", key, "omitted with --progress, which draws all keys")
    loaded = load_pipeline(pipeline)
    with spinner("running the reference interpreter"):
        run = reference.run(loaded, read_timelines(loaded, inputs, options), mode=options.mode)
    with spinner("drawing"):
        output.parent.mkdir(parents=True, exist_ok=True)
        if progress:
            draw_progress(run, output, title=title)
        elif key is None:
            draw_run(run, output, title=title)
        else:
            draw_run(run, output, key=parse_key(key, key_shape(loaded), "--key"), title=title)
    show(f"{len(run.panes):,} panes, drawn in {output}")
