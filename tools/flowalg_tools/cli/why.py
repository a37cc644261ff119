"""``flowalg when``: why the panes of a window came when they did, or why none has come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import flowalg_reference as reference
from flowalg_reference import Run

from flowalg import ArgumentError, Pane, PCollection, Window, to_datetime
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.structure import last_grouping
from flowalg_tools.cli.inputs import Seeing, timelines
from flowalg_tools.cli.names import pipeline_named
from flowalg_tools.cli.points import key_of, point_of, window_of
from flowalg_tools.cli.terminal import show, working

_STYLES = {"[x]": "green", "[ ]": "yellow"}


def asked(
    pipeline: str, given: Sequence[str], window: str, key: str | None, at: str | None, seeing: Seeing
) -> None:
    """Print the answer for one window: of a key, or of all that have a pane of it."""
    found = pipeline_named(pipeline)
    wanted = window_of(window, "--window")
    until = None if at is None else point_of(at, "--at")
    with working("running the reference interpreter"):
        run = reference.run(found, timelines(found, given, seeing), mode=seeing.mode)
    panes = [one for one in run.panes if one.window == wanted and (until is None or _seen(one) <= until)]
    if key is not None:
        chosen = key_of(key, key_shape(found), "--key")
        show("\n\n".join(_of_key(run, panes, chosen, wanted, until)), _STYLES)
    elif panes:
        show("\n\n".join(str(reference.explain_when(run, pane)) for pane in panes), _STYLES)
    else:
        windows = sorted({one.window for one in run.panes})
        raise ArgumentError(
            "--window",
            str(wanted),
            "a window of a pane"
            + (f", from {windows[0]} to {windows[-1]}" if windows else "; the run has none"),
            why="no pane of it came; say --key to hear why",
        )


def _of_key(
    run: Run[object], panes: Sequence[Pane[object]], key: object, window: Window, until: datetime | None
) -> list[str]:
    """Why each of a key's panes came; and, where nothing came or a moment is asked for, why nothing more."""
    when = [reference.explain_when(run, pane) for pane in panes]
    said = [str(one) for one in when if one.key == key]
    if until is not None or not said:
        said.append(str(reference.why_not(run, key, window, at=until)))
    return said


def _seen(pane: Pane[object]) -> datetime:
    return to_datetime(pane.processing_time)


def key_shape(pipeline: PCollection[object]) -> Shape | None:
    """The shape of the keys of the last grouping, if it is known."""
    pair = last_grouping(pipeline.node).shape
    return pair.fields[0].shape if isinstance(pair, RecordOf) else None


__all__ = ["asked", "key_shape"]
