"""``flowalg draw``: the picture of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import flowalg_reference as reference

from flowalg import ArgumentError
from flowalg_tools.cli.inputs import Seeing, timelines
from flowalg_tools.cli.names import pipeline_named
from flowalg_tools.cli.points import key_of
from flowalg_tools.cli.terminal import show, working
from flowalg_tools.cli.why import key_shape


def drawn(
    pipeline: str,
    given: Sequence[str],
    output: Path,
    seeing: Seeing,
    *,
    key: str | None,
    progress: bool,
    title: str | None,
) -> None:
    """Run a pipeline in the reference interpreter, and draw that."""
    from flowalg_tools.pictures import draw_progress, draw_run

    if progress and key is not None:
        raise ArgumentError("--key", key, "left out with --progress, which is of all keys")
    found = pipeline_named(pipeline)
    with working("running the reference interpreter"):
        run = reference.run(found, timelines(found, given, seeing), mode=seeing.mode)
    with working("drawing"):
        output.parent.mkdir(parents=True, exist_ok=True)
        if progress:
            draw_progress(run, output, title=title)
        elif key is None:
            draw_run(run, output, title=title)
        else:
            draw_run(run, output, key=key_of(key, key_shape(found), "--key"), title=title)
    show(f"{len(run.panes):,} panes, drawn in {output}")


__all__ = ["drawn"]
