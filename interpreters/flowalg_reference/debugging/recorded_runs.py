"""The history and the recording of a run, kept as long as the run, because a run is often asked several questions."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from flowalg_reference.debugging.history import TimelineHistory
from flowalg_reference.debugging.recording import Recording, record
from flowalg_reference.run import RunSpec

_HISTORIES: WeakKeyDictionary[RunSpec, TimelineHistory] = WeakKeyDictionary()
_RECORDINGS: WeakKeyDictionary[RunSpec, Recording] = WeakKeyDictionary()


def history_of(spec: RunSpec) -> TimelineHistory:
    """Returns the instants of a run."""
    if spec not in _HISTORIES:
        _HISTORIES[spec] = TimelineHistory(spec.timelines, spec.dead_letters)
    return _HISTORIES[spec]


def recording_of(spec: RunSpec) -> Recording:
    """Returns the recorded evaluations of a run, which explain all of its panes."""
    if spec not in _RECORDINGS:
        _RECORDINGS[spec] = record(spec.pipeline.node, spec.mode, history_of(spec))
    return _RECORDINGS[spec]
