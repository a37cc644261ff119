"""``flowalg why``: why the panes of a window fired when they did, or why none has fired."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import flowalg_reference as reference
from flowalg_reference import ReferenceRun

from flowalg import ArgumentError, Pane, PCollection, Window
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.structure import last_grouping
from flowalg_tools.cli.inputs import TimelineOptions, run_timelines
from flowalg_tools.cli.literals import parse_key, parse_time, parse_window
from flowalg_tools.cli.names import load_pipeline
from flowalg_tools.cli.terminal import show

_STYLES = {"[x]": "green", "[ ]": "yellow"}


def explain_window(
    pipeline: str,
    inputs: Sequence[str],
    window: str,
    key: str | None,
    at: str | None,
    options: TimelineOptions,
) -> None:
    """Prints the explanation of one window: for one key, or for every key that has a pane of it."""
    loaded = load_pipeline(pipeline)
    selected = parse_window(window, "--window")
    until = None if at is None else parse_time(at, "--at")
    run = run_timelines(loaded, inputs, options)
    panes = [
        pane
        for pane in run.panes
        if pane.window == selected and (until is None or pane.processing_time.datetime <= until)
    ]
    if key is not None:
        chosen = parse_key(key, key_shape(loaded), "--key")
        show("\n\n".join(_explain_key(run, panes, chosen, selected, until)), _STYLES)
    elif panes:
        show("\n\n".join(str(reference.explain_when(run, pane)) for pane in panes), _STYLES)
    else:
        windows = sorted({pane.window for pane in run.panes})
        raise ArgumentError(
            "--window",
            str(selected),
            "a window of a pane"
            + (f", from {windows[0]} to {windows[-1]}" if windows else "; the run has none"),
            why="it has no pane; add --key to see why",
        )


def _explain_key(
    run: ReferenceRun[object],
    panes: Sequence[Pane[object]],
    key: object,
    window: Window,
    until: datetime | None,
) -> list[str]:
    """Why each pane of a key fired and, if there is none or a time was given, why no further one did."""
    explanations = [reference.explain_when(run, pane) for pane in panes]
    texts = [str(explanation) for explanation in explanations if explanation.key == key]
    if until is not None or not texts:
        texts.append(str(reference.why_not(run, key, window, at=until)))
    return texts


def key_shape(pipeline: PCollection[object]) -> Shape | None:
    """The shape of the last grouping's keys, if it is known."""
    pair = last_grouping(pipeline.node).shape
    return pair.fields[0].shape if isinstance(pair, RecordOf) else None


__all__ = ["explain_window", "key_shape"]
