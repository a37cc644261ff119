"""Notes about how an engine runs the functions of a pipeline."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from attrs import frozen

from flowalg.computations.library import built_in
from flowalg.data.errors import UnsupportedError
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.tree.expressions import Opaque
from flowalg.pipeline.nodes import Process

_LOG: Final = logging.getLogger("flowalg.lifting")


@frozen
class LiftingNote:
    """Whether a user function runs as columns of the engine or in Python, with the reason and the source location."""

    transform: str
    reason: str | None
    location: str | None
    engine: str = "Spark"

    def __str__(self) -> str:
        if self.reason is None:
            return f"{self.transform}: lifted to {self.engine} columns"
        where = f", at {self.location}" if self.location else ""
        return f"{self.transform}: runs in Python: {self.reason}{where}"


def report_functions(notes: Iterable[LiftingNote], *, require_lifted: bool) -> None:
    """Logs each function that runs in Python once; raises ``UnsupportedError`` if all functions must be lifted."""
    in_python = [note for note in dict.fromkeys(notes) if note.reason is not None]
    if in_python and require_lifted:
        raise UnsupportedError.of(*(UnsupportedError(f"require_lifted: {note}") for note in in_python))
    for note in in_python:
        _log(note)


@lru_cache(maxsize=1_024)
def _log(note: LiftingNote) -> None:
    _LOG.info(
        "%s. Each element becomes an object there, which costs some twenty times a lifted function", note
    )


def note_of_function(label: str, opaque: Opaque | None, engine: str = "Spark") -> LiftingNote:
    """Returns the note of a function that is lifted exactly if it has no opaque part."""
    if opaque is None:
        return LiftingNote(label, None, None, engine)
    return LiftingNote(label, opaque.reason, opaque.location or None, engine)


def note_of(analysis: StepAnalysis, engine: str) -> LiftingNote:
    """Returns the note of a step that is lifted exactly if it has no opaque part."""
    return note_of_function(analysis.step.label, analysis.opaque, engine)


def note_in_python(analysis: StepAnalysis, engine: str = "Spark") -> LiftingNote:
    """Returns the note of a step that runs in Python, if only because the step before or after it does."""
    if analysis.opaque is None:
        return LiftingNote(analysis.step.label, "a neighbouring step does", None, engine)
    return note_of(analysis, engine)


def why_unknown(label: str, opaque: Opaque | None) -> str:
    """Returns the end of a message about a function whose result has no known type: why it is not lifted."""
    if opaque is None:
        return ""
    where = f", at {opaque.location}" if opaque.location and opaque.location not in label else ""
    return f"; the type is unknown, since the function runs in Python: {opaque.reason}{where}"


def note_of_computation(node: Process, engine: str = "Spark") -> LiftingNote:
    """Returns the note of a computation, whose functions run in Python unless the step has them in columns."""
    if built_in(node.computation) is not None:
        return LiftingNote(node.label, None, None, engine)
    return LiftingNote(node.label, "a computation, which observes elements in Python", None, engine)


def note_of_rounds(node: Process, opaque: Opaque | None, engine: str) -> LiftingNote:
    """Returns the note of a computation whose function of elements is lifted, or opaque."""
    if opaque is not None:
        reason = f"a computation, which observes elements in Python: {opaque.reason}"
        return LiftingNote(node.label, reason, opaque.location or None, engine)
    others = [
        name
        for name, f in (
            ("timers", node.computation.on_timer),
            ("retractions", node.computation.on_retraction),
        )
        if f is not None
    ]
    observed = f"a computation, which observes {' and '.join(others)} in Python"
    return LiftingNote(node.label, observed if others else None, None, engine)
