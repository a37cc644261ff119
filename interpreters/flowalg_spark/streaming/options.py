"""The options of a streaming query on Spark: its state, how time passes, and what it reports."""

from __future__ import annotations

from os import PathLike
from typing import Final, TypedDict

from attrs import frozen

from flowalg.data.errors import ArgumentError, require_flag

STATE_CACHE_BYTES: Final = 1 << 30
"""The default size of the state cache of a Python worker, in bytes."""


class StreamOptions(TypedDict, total=False):
    """The options of a streaming query, as keyword arguments of ``compile``.

    ``shards`` is the number of parts of each stage's state. A checkpoint fixes it, and only ``reshard`` changes it. It
    defaults to the session's number of shuffle partitions.

    Spark runs a micro-batch when there is data. If anything in the pipeline waits for processing time (a trigger, a
    timer, a policy that follows the clock, ``idle_after``), and no source carries processing times, each source gets an
    input of ticks, so that a micro-batch runs each second, or at the interval of the query's trigger. With
    ``tick=False`` none does, and with ``tick_when_idle`` any pipeline does. The ticks belong to the checkpoint, as all
    inputs do.

    A query that ends, such as one with ``availableNow``, keeps its open windows for the next run. To end the input
    instead, pass ``drain_signal_path``, a folder for this query only, which is created if it does not exist, and call
    ``drain``. The path is part of the checkpoint, so pass it from the first run on.

    A micro-batch reads and writes only the state of the windows that it touches. For this, each Python worker caches
    the state of its shards, up to ``state_cache_bytes`` bytes. State outside the cache (all of it with 0) is read from
    the state store in every micro-batch.

    With ``metrics``, each stage reports its clocks, inputs, outputs, drops and state for each micro-batch. They are in
    Spark's progress of the query (see ``stage_metrics``). ``with_metrics`` stores them with the panes, for ``metrics``
    and for ``replay_log``, which reconstructs the timeline of the run.

    A bad record fails the query: one that cannot be parsed, has a null or an impossible event time, or makes a user
    function raise. With ``dead_letters`` it becomes a row of ``with_drops`` instead, whose ``drop`` has the reason
    ``bad_record``, the transform as its ``stage``, the ``error``, and the record as JSON. Functions that can fail then
    run in Python. An error that belongs to no element, as that of a merge or a trigger's predicate, fails the query.

    Functions that are not lifted run in Python, and are named in the log ``flowalg.lifting``; with ``require_lifted``
    they raise ``UnsupportedError``.

    With ``late_data`` each row of a drop in ``with_drops`` is one element: the ``value`` is the element as JSON, and
    the ``drop`` has its ``event_time``, ``change`` and ``input``, and the ``watermark`` before its micro-batch. Each
    grouping then receives its elements besides the combined ones.
    """

    shards: int | None
    tick: bool
    tick_when_idle: bool
    drain_signal_path: str | PathLike[str] | None
    state_cache_bytes: int
    metrics: bool
    dead_letters: bool
    late_data: bool
    require_lifted: bool


@frozen
class Options:
    """The options of a query as a value, with their defaults, each of which is valid."""

    shards: int | None = None
    tick: bool = True
    tick_when_idle: bool = False
    drain_signal_path: str | PathLike[str] | None = None
    state_cache_bytes: int = STATE_CACHE_BYTES
    metrics: bool = False
    dead_letters: bool = False
    late_data: bool = False
    require_lifted: bool = False

    def __attrs_post_init__(self) -> None:
        size = self.state_cache_bytes
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            valid = "the size of a Python worker's state cache in bytes, 0 or more"
            raise ArgumentError("state_cache_bytes", size, valid)
        for flag in ("metrics", "dead_letters", "late_data", "require_lifted", "tick", "tick_when_idle"):
            require_flag(flag, getattr(self, flag))
