"""``flowalg why``: why the panes of a window fired or why none has; what caused the outputs of a computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import flowalg_reference as reference
from flowalg_reference import RunSpec, WhyNot
from flowalg_reference.debugging.explain_when import explain_pane
from flowalg_reference.debugging.explain_window import explain_all_keys, explain_key
from flowalg_reference.debugging.history import History
from flowalg_reference.debugging.pane_bounds import find_pane_bounds
from flowalg_reference.debugging.recorded_runs import history_of, recording_of
from flowalg_reference.debugging.recording import Recording, record
from flowalg_reference.debugging.selection import NotSeparableError, separable_grouping
from flowalg_reference.debugging.stages import last_computations
from flowalg_reference.debugging.why_not import explain_missing, require_hashable
from flowalg_reference.run import spec_for

from flowalg import FlowalgError, Mode, PCollection, Source, Timeline, Window, processing_time
from flowalg.data.shapes import RecordOf, Shape
from flowalg.errors import ArgumentError
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.nodes import Node
from flowalg.pipeline.structure import last_grouping
from flowalg_tools.cli.inputs import TimelineOptions, read_columns, read_timelines
from flowalg_tools.cli.literals import parse_key, parse_time, parse_window
from flowalg_tools.cli.names import load_pipeline
from flowalg_tools.cli.terminal import show, spinner

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
    texts = _explain_columns(loaded, inputs, options, selected, key, until)
    if texts is None:
        timelines = read_timelines(loaded, inputs, options)
        texts = _explain_timelines(loaded, timelines, options.mode, selected, key, until)
    show("\n\n".join(texts), _STYLES)


def explain_computation(
    pipeline: str, inputs: Sequence[str], key: str | None, at: str | None, options: TimelineOptions
) -> None:
    """Prints the explanations of the outputs of a computation, of one key or of all keys.

    With ``at`` these are the outputs up to that time. With ``at`` or without an output, what the key is waiting for
    comes last.
    """
    loaded = load_pipeline(pipeline)
    computations = last_computations(loaded.node)
    if not computations:
        raise ArgumentError("--window", None, "a window, since the pipeline has no computation")
    until = None if at is None else parse_time(at, "--at")
    chosen = None if key is None else parse_key(key, _key_of(computations[0].input), "--key")
    timelines = read_timelines(loaded, inputs, options)
    with spinner("running the reference interpreter"):
        run = reference.run(loaded, timelines, mode=options.mode)
        outputs = [
            output for output in run.elements if until is None or output.processing_time.datetime <= until
        ]
        explanations = [reference.explain_when(run, output) for output in outputs]
        texts = [str(explanation) for explanation in explanations if key is None or explanation.key == chosen]
        if key is not None and (until is not None or not texts):
            texts.append(str(reference.why_not(run, chosen, at=until)))
    if not texts:
        raise ArgumentError("--key", key, "a key; no computation has emitted an output")
    show("\n\n".join(texts))


def _explain_columns(
    pipeline: PCollection[object],
    inputs: Sequence[str],
    options: TimelineOptions,
    window: Window,
    key: str | None,
    until: datetime | None,
) -> list[str] | None:
    """Returns the explanations from the columns of a file; ``None`` if they need its records, or if something fails."""
    root = resolve_accumulation(pipeline.node)
    grouping = separable_grouping(root)
    if grouping is None:
        return None
    with spinner("reading"):
        history = read_columns(pipeline, grouping, inputs, options)
    if history is None:
        return None
    return _explain_selected(pipeline, root, options.mode, history, window, key, until)


def _explain_timelines(
    pipeline: PCollection[object],
    timelines: Mapping[Source[object], Timeline[object]],
    mode: Mode,
    window: Window,
    key: str | None,
    until: datetime | None,
) -> list[str]:
    """Returns the explanations from timelines."""
    with spinner("running the reference interpreter"):
        spec = spec_for(pipeline, timelines, mode)
        texts = _explain_selected(pipeline, spec.pipeline.node, mode, history_of(spec), window, key, until)
        if texts is not None:
            return texts
        return _explain_run(pipeline, spec, timelines, window, key, until)


def _explain_selected(
    pipeline: PCollection[object],
    root: Node,
    mode: Mode,
    history: History,
    window: Window,
    key: str | None,
    until: datetime | None,
) -> list[str] | None:
    """Returns the explanations from the elements that affect the window; ``None`` if they need the whole run, or fail.

    A run of all elements then raises the first error.
    """
    try:
        time = None if until is None else processing_time(until)
        if key is not None:
            chosen = parse_key(key, key_shape(pipeline), "--key")
            return list(map(str, explain_key(root, mode, history, chosen, window, time)))
        explanations = explain_all_keys(root, mode, history, window, time)
        bounds = None if explanations else find_pane_bounds(root, mode, history)
    except (FlowalgError, NotSeparableError):
        return None
    if not explanations:
        raise _no_pane(window, bounds)
    return list(map(str, explanations))


def _explain_run(
    pipeline: PCollection[object],
    spec: RunSpec,
    timelines: Mapping[Source[object], Timeline[object]],
    window: Window,
    key: str | None,
    until: datetime | None,
) -> list[str]:
    """Returns the explanations from the whole run."""
    recording = recording_of(spec)
    explanations = [
        explain_pane(recording, pane, pane)
        for pane in recording.panes
        if pane.window == window and (until is None or pane.processing_time.datetime <= until)
    ]
    if key is None and not explanations:
        windows = sorted({pane.window for pane in recording.panes})
        raise _no_pane(window, (windows[0], windows[-1]) if windows else None)
    if key is None:
        return list(map(str, explanations))
    chosen = parse_key(key, key_shape(pipeline), "--key")
    texts = [str(explanation) for explanation in explanations if explanation.key == chosen]
    if until is None and texts:
        return texts
    if recording.last is None:
        run = reference.run(pipeline, timelines, mode=spec.mode)
        return [*texts, str(reference.why_not(run, chosen, window, at=until))]
    return [*texts, str(_explain_missing(spec, recording, chosen, window, until))]


def _explain_missing(
    spec: RunSpec, recording: Recording, key: object, window: Window, until: datetime | None
) -> WhyNot:
    """Why a window of a key has no pane, or no further one, from the whole run."""
    require_hashable(key)
    root, history = spec.pipeline.node, history_of(spec)
    if until is not None:
        recording = record(root, spec.mode, history, processing_time(until, argument="at"))
    if recording.last is None:
        raise ArgumentError("at", until, "at or after an instant of the run")
    return explain_missing(root, history, recording, key, window)


def _no_pane(window: Window, bounds: tuple[Window, Window] | None) -> ArgumentError:
    """Returns the error for a window without a pane; ``bounds`` are the first and the last window with one."""
    return ArgumentError(
        "--window",
        str(window),
        "a window of a pane"
        + ("; the run has none" if bounds is None else f", from {bounds[0]} to {bounds[1]}"),
        why="it has no pane; add --key to see why",
    )


def key_shape(pipeline: PCollection[object]) -> Shape | None:
    """Returns the shape of the last grouping's keys, if it is known."""
    return _key_of(last_grouping(pipeline.node))


def _key_of(keyed: Node) -> Shape | None:
    """Returns the shape of the keys of a keyed collection, if it is known."""
    return keyed.shape.fields[0].shape if isinstance(keyed.shape, RecordOf) else None
