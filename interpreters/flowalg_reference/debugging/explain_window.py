"""Why the panes of one window fired, and why there is no further one, from the elements that affect the window alone.

The explanations are those of ``explain_when`` and ``why_not`` for the run of all elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowalg.analysis.capabilities import Mode
from flowalg.data.time import ProcessingTime
from flowalg.pipeline.nodes import Node
from flowalg.windows.window import Window
from flowalg_reference.debugging.explain_when import Explanation, explain_pane
from flowalg_reference.debugging.history import History
from flowalg_reference.debugging.recording import Recording, record_selected
from flowalg_reference.debugging.selection import (
    NotSeparableError,
    require_separable,
    select_all_panes,
    select_panes,
)
from flowalg_reference.debugging.why_not import WhyNot, explain_missing, record_key, require_hashable


def explain_key(
    root: Node, mode: Mode, history: History, key: object, window: Window, until: ProcessingTime | None
) -> tuple[Explanation[object] | WhyNot, ...]:
    """Explains the panes of a window of a key up to a processing time, or to the end of the run.

    With a time, or if there is no pane, the last explanation is why there is no further one. Raises
    ``NotSeparableError`` if the explanations depend on all elements (see ``Selection``), or if the run has no instant,
    and ``ArgumentError`` for a key that is not hashable.
    """
    require_hashable(key)
    grouping = require_separable(root)
    selection = select_panes(grouping, window, key)
    recording = record_selected(root, grouping, mode, history, selection, until)
    panes = [explanation for explanation in _explain(recording, window) if explanation.key == key]
    if until is None and panes:
        return tuple(panes)
    state = record_key(root, mode, history, key, window, until)
    if state.last is None:
        raise NotSeparableError
    return (*panes, explain_missing(root, history, state, key, window))


def explain_all_keys(
    root: Node, mode: Mode, history: History, window: Window, until: ProcessingTime | None
) -> tuple[Explanation[object], ...]:
    """Explains the panes of a window, of every key, up to a processing time, or to the end of the run.

    Raises ``NotSeparableError`` if the explanations depend on all elements (see ``Selection``).
    """
    grouping = require_separable(root)
    selection = select_all_panes(grouping, window, lambda: history.keys_within(grouping, window))
    return tuple(_explain(record_selected(root, grouping, mode, history, selection, until), window))


def _explain(recording: Recording, window: Window) -> Iterator[Explanation[object]]:
    for pane in recording.panes[: recording.panes_of_run]:
        if pane.window == window:
            yield explain_pane(recording, pane, pane)
