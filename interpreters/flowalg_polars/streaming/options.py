"""The options of a streaming query: how it is checkpointed, how time passes, and what it reports."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final, TypedDict

from attrs import frozen

from flowalg.analysis.clock_needs import clock_needs, ticks_off
from flowalg.data.errors import ArgumentError, require_count, require_flag, require_name
from flowalg.data.time import duration_of
from flowalg.pipeline.nodes import Node
from flowalg.runs.events import Observer
from flowalg_polars.streaming.reading.inputs import StreamInput
from flowalg_polars.streaming.storage.location import CheckpointLocation

_LOG: Final = logging.getLogger("flowalg.streaming")
_ONE_SECOND: Final = timedelta(seconds=1)


class StreamOptions(TypedDict, total=False):
    """The options of a streaming query, as keyword arguments of ``batches`` and ``run``.

    With a ``checkpoint`` the query goes on where it was stopped or killed: the path of a folder, a URL such as
    ``s3://bucket/folder`` (``gs://``, ``az://``, ``memory://name``), or an object store of ``obstore``. Stores need
    ``flowalg[store]``, and a start takes the checkpoint over from a query that runs. ``shards`` is the number of parts
    of each stage's state, 1 by default. A checkpoint fixes it, and only ``reshard`` changes it.

    A query ends when all available data are read. With ``follow`` it waits for more, and looks for them at each
    ``interval``, a second by default. Time passes without data, too: if anything in the pipeline waits for processing
    time (a trigger, a timer, a policy that follows the clock, ``idle_after``), an empty micro-batch runs at the next
    deadline, and at least once in a ``tick``, a second by default; none does with ``tick=None``. With
    ``tick_when_idle`` it runs for any pipeline. With ``drain``, the watermark advances to the end of time after the
    available data, and so it does when ``drain(checkpoint)`` has been called.

    With ``max_skew``, a source whose watermark is further ahead than this of the slowest source is not read until the
    slowest has caught up, so that less waits in the state. The slowest is one that has data to read; with ``follow``,
    also one that has none now, unless it is idle (``idle_after``) or has ended. A micro-batch is not divided, so the
    skew can exceed ``max_skew`` by what one micro-batch of a source advances it.

    A bad record fails the query: one that has a null or an impossible event time, or makes a user function raise. With
    ``dead_letters`` it is in ``MicroBatch.bad_records`` instead. With ``late_data``, ``MicroBatch.dropped`` has each
    dropped element as a ``DroppedElement``, with its value and event time; otherwise a ``Drop`` is for all of one key
    and window. With ``metrics``, ``MicroBatch.metrics`` has those of each stage.

    Functions that are not lifted run in Python, and are named in the log ``flowalg.lifting``; with ``require_lifted``
    they raise ``UnsupportedError``.

    The ``observers`` are called when the query starts, after each micro-batch when it is committed, and when it ends
    or fails, with a ``QueryEvent`` in which the query has its ``name``; by default its id. They imply ``metrics``. An
    observer that raises fails the query.
    """

    checkpoint: CheckpointLocation | None
    follow: bool
    interval: timedelta
    tick: timedelta | None
    tick_when_idle: bool
    drain: bool
    dead_letters: bool
    late_data: bool
    require_lifted: bool
    metrics: bool
    shards: int
    max_skew: timedelta | None
    name: str | None
    observers: Sequence[Observer]


@frozen
class Options:
    """The options of a query as a value, with their defaults, each of which is valid."""

    checkpoint: CheckpointLocation | None = None
    follow: bool = False
    interval: timedelta = _ONE_SECOND
    tick: timedelta | None = _ONE_SECOND
    tick_when_idle: bool = False
    drain: bool = False
    dead_letters: bool = False
    late_data: bool = False
    require_lifted: bool = False
    metrics: bool = False
    shards: int = 1
    max_skew: timedelta | None = None
    name: str | None = None
    observers: Sequence[Observer] = ()

    def __attrs_post_init__(self) -> None:
        for name in (
            "follow",
            "tick_when_idle",
            "drain",
            "dead_letters",
            "late_data",
            "metrics",
            "require_lifted",
        ):
            require_flag(name, getattr(self, name))
        require_shards(self.shards)
        if not isinstance(self.interval, timedelta) or self.interval <= timedelta(0):
            raise ArgumentError("interval", self.interval, "a positive timedelta")
        if self.tick is not None:
            duration_of("tick", self.tick, allow_zero=False)
        if self.max_skew is not None:
            duration_of("max_skew", self.max_skew, allow_zero=True)
        if self.name is not None:
            require_name("name", self.name, "a non-empty str, or None for the id of the query")
        if not isinstance(self.observers, Sequence) or not all(map(callable, self.observers)):
            raise ArgumentError("observers", self.observers, "a sequence of functions of a QueryEvent")

    def ticks(self, roots: Iterable[Node], streams: Mapping[str, StreamInput]) -> bool:
        """Returns whether a query advances its clock without data: if anything waits for processing time, which it
        advances.

        If rows carry processing times, only they advance it.
        """
        if not self.follow or any(stream.processing_time is not None for stream in streams.values()):
            return False
        policies = {name: stream.watermark for name, stream in streams.items()}
        if self.tick is None:
            if (warning := ticks_off(roots, policies)) is not None:
                _LOG.warning("%s", warning)
            return False
        return self.tick_when_idle or any(True for _ in clock_needs(roots, policies))

    @property
    def measures(self) -> bool:
        """Whether stages and sources are measured."""
        return self.metrics or bool(self.observers)


def require_shards(shards: int) -> int:
    """Returns a number of shards; raises ``ArgumentError`` for an invalid one."""
    require_count("shards", shards)
    return shards
