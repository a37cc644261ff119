"""What the functions of a computation receive and return: observed elements, clocks, timers and transitions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, Generic, TypeAlias, TypeVar

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, require_name
from flowalg.data.time import (
    EPOCH,
    MAX_TIME,
    MICROSECOND,
    MIN_TIME,
    EventTime,
    ProcessingTime,
    event_time,
    processing_time,
)

_START: Final = MIN_TIME.datetime
_END: Final = MAX_TIME.datetime

K_co = TypeVar("K_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)
Out_co = TypeVar("Out_co", covariant=True)


@frozen
class Observed(Generic[K_co, V_co]):
    """An element that a computation observes. It is ``late`` if its event time is behind the watermark."""

    key: K_co
    value: V_co
    event_time: datetime
    late: bool = False


_SLOTS: Final = tuple(vars(Observed)[name].__set__ for name in ("key", "value", "event_time", "late"))


def observe_all(columns: Sequence[Iterable[object]], count: int) -> list[Observed[object, object]]:
    """Returns ``count`` observed elements, given a column of each field.

    Writing the slots a column at a time takes a fifth of the time of the constructor, which only stores them.
    """
    observed = [object.__new__(Observed) for _ in range(count)]
    for write, column in zip(_SLOTS, columns, strict=True):
        deque(map(write, observed, column), maxlen=0)
    return observed


@frozen
class Clocks:
    """What both clocks read. Elements are observed before the watermark of their instant, timers fire after it.

    ``input_ended`` says that the input has ended: the timers that are set then fire for the last time, and what they
    set does not fire. The watermark is ``MAX_TIME``.
    """

    processing_time: datetime
    watermark: datetime
    input_ended: bool = False


@frozen
class EventTimer:
    """A timer of event time: it fires when the watermark reaches ``at``, an aware datetime. ``tag`` is its name.

    ``at`` is kept in UTC; if it is later than the end of time, it is the end of time.
    """

    tag: str
    at: datetime

    def __attrs_post_init__(self) -> None:
        if not _is_plain(self.tag, self.at):
            require_name("EventTimer.tag", self.tag)
            point = event_time(_within_time(self.at), argument="EventTimer.at")
            object.__setattr__(self, "at", point.datetime)

    @property
    def point(self) -> EventTime:
        """The event time at which it fires."""
        return EventTime(self.micros)

    @property
    def micros(self) -> int:
        """The same in microseconds since the epoch."""
        return (self.at - EPOCH) // MICROSECOND


@frozen
class ProcessingTimer:
    """A timer of processing time: it fires when the clock reaches ``at``, an aware datetime. ``tag`` is its name.

    ``at`` is kept as that of an ``EventTimer`` is.
    """

    tag: str
    at: datetime

    def __attrs_post_init__(self) -> None:
        if not _is_plain(self.tag, self.at):
            require_name("ProcessingTimer.tag", self.tag)
            point = processing_time(_within_time(self.at), argument="ProcessingTimer.at")
            object.__setattr__(self, "at", point.datetime)

    @property
    def point(self) -> ProcessingTime:
        """The processing time at which it fires."""
        return ProcessingTime(self.micros)

    @property
    def micros(self) -> int:
        """The same in microseconds since the epoch."""
        return (self.at - EPOCH) // MICROSECOND


Timer: TypeAlias = EventTimer | ProcessingTimer
"""A timer of a key. A key has one timer for each tag: setting a tag again replaces its timer."""


@frozen
class Transition(Generic[S_co, Out_co]):
    """The result of a function of a computation: the new state of the key, and what else happens.

    The state ``None`` frees the key, with all its timers. ``emit`` has the outputs at the event time of their cause,
    which is an element or a timer; ``emit_at`` has outputs at other event times. ``set`` sets timers, and ``clear``
    clears the timers with these tags. ``hold`` holds the downstream watermark at an event time until the next
    transition of the key, so that later outputs can have that event time.

    No event time of a transition (of an output, a timer or a hold) is before that of its cause, or before the hold of
    the previous transition if that is earlier. Raises ``ArgumentError`` for anything else than these types.
    """

    state: S_co | None
    emit: Sequence[Out_co] = field(default=(), kw_only=True)
    emit_at: Sequence[tuple[datetime, Out_co]] = field(default=(), kw_only=True)
    set: Sequence[Timer] = field(default=(), kw_only=True)
    clear: Sequence[str] = field(default=(), kw_only=True)
    hold: datetime | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if type(self.emit) is not tuple:
            _require_sequence("Transition.emit", self.emit, "outputs")
        if self.emit_at:
            _require_sequence("Transition.emit_at", self.emit_at, "pairs of an event time and an output")
            for pair in self.emit_at:
                if not isinstance(pair, tuple) or len(pair) != 2:
                    raise ArgumentError("an item of Transition.emit_at", pair, "a pair (event time, output)")
                event_time(pair[0], argument="the event time of an item of Transition.emit_at")
        if self.set or self.clear:
            self._require_timers()
        if self.hold is not None:
            event_time(self.hold, argument="Transition.hold")
        if self.state is None and (self.set or self.hold is not None):
            valid = "a state, if the transition sets timers or a hold: the state None frees the key"
            raise ArgumentError("Transition.state", None, valid)

    def _require_timers(self) -> None:
        _require_sequence("Transition.set", self.set, "timers")
        for timer in self.set:
            if type(timer) is not EventTimer and not isinstance(timer, Timer):
                valid = "an EventTimer or a ProcessingTimer"
                raise ArgumentError("an item of Transition.set", timer, valid)
        _require_sequence("Transition.clear", self.clear, "tags of timers")
        for tag in self.clear:
            require_name("an item of Transition.clear", tag)
        if len(self.set) + len(self.clear) > 1:
            self._require_distinct_tags()

    def _require_distinct_tags(self) -> None:
        tags = Counter([*(timer.tag for timer in self.set), *dict.fromkeys(self.clear)])
        for tag, times in tags.items():
            if times > 1:
                raise ArgumentError("Transition.set", self.set, f"one timer for the tag {tag!r}, not cleared")


def _require_sequence(argument: str, value: object, items: str) -> None:
    if type(value) is not list and not isinstance(value, tuple | list):
        raise ArgumentError(argument, value, f"a tuple or list of {items}")


def _is_plain(tag: object, at: object) -> bool:
    """Returns whether the parts of a timer are surely valid and in normal form, by a fast check of the common case."""
    return (
        type(tag) is str
        and tag != ""
        and tag.isascii()
        and type(at) is datetime
        and at.tzinfo is UTC
        and _START <= at <= _END
    )


def _within_time(at: datetime) -> datetime:
    """Returns a time, or the end of time for one that is later, as a short time after the last window is."""
    is_late = isinstance(at, datetime) and at.utcoffset() is not None and at > _END
    return _END if is_late else at
