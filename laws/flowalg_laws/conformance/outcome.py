"""The outcome of a run: its panes, and the number of dropped elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from attrs import field, frozen

from flowalg import Drop, Pane, PCollection, Window
from flowalg_laws.conformance.jobs.replay import Replay


@frozen
class DropGroup:
    """A group of dropped elements: their key, window and reason. An element that is not a pair is its own key."""

    key: object
    window: Window
    reason: str

    @classmethod
    def of(cls, drop: Drop) -> DropGroup:
        """Returns the group of a drop."""
        return cls(drop.key, drop.window, drop.reason.value)


def count_drops(drops: Iterable[Drop]) -> Mapping[DropGroup, int]:
    """Returns the number of dropped elements by key, window and reason."""
    return Counter(map(DropGroup.of, drops))


@frozen
class Outcome:
    """The panes of a run, and the number of dropped elements by key, window and reason.

    ``dropped`` is ``None`` for an interpreter that does not report drops.
    """

    panes: tuple[Pane[object], ...]
    dropped: Mapping[DropGroup, int] | None = field(default=None)


class Runner(Protocol):
    """An interpreter as the conformance suite calls it.

    A streaming interpreter runs the pipeline over the micro-batches of the replay, each of which is an instant. A batch
    interpreter runs it over all records of the replay, at the processing time ``replay.time``.
    """

    def __call__(self, pipeline: PCollection[object], replay: Replay, /) -> Outcome:
        """Returns the outcome; raises ``UnsupportedError`` if the interpreter cannot run the pipeline."""
        ...


__all__ = ["DropGroup", "Outcome", "Runner", "count_drops"]
