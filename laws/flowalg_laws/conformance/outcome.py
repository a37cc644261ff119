"""What an interpreter makes of a job: panes, and how many elements it dropped where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from attrs import field, frozen

from flowalg import Drop, Pane, PCollection, Window
from flowalg_laws.conformance.jobs.replay import Replay


@frozen
class Refused:
    """Where elements were dropped: of which key and window, and why. The key of what is no pair is itself."""

    key: object
    window: Window
    reason: str

    @classmethod
    def of(cls, drop: Drop) -> Refused:
        """Where a dropped element belongs."""
        return cls(drop.key, drop.window, drop.reason.value)


def counted(drops: Iterable[Drop]) -> Mapping[Refused, int]:
    """How many elements were dropped, by key, window and reason."""
    return Counter(map(Refused.of, drops))


@frozen
class Outcome:
    """The panes of a run, and how many elements were dropped by key, window and reason.

    ``dropped`` is ``None`` for an interpreter that does not say what it dropped.
    """

    panes: tuple[Pane[object], ...]
    dropped: Mapping[Refused, int] | None = field(default=None)


class Runner(Protocol):
    """An interpreter, as the conformance suite calls it.

    One that streams runs the pipeline over the micro-batches of the replay, each one an instant; one that runs batches
    runs it over all records of the replay, at the processing time ``replay.time``.
    """

    def __call__(self, pipeline: PCollection[object], replay: Replay, /) -> Outcome:
        """What comes of it; raises ``UnsupportedError`` for what it cannot run."""
        ...


__all__ = ["Outcome", "Refused", "Runner", "counted"]
