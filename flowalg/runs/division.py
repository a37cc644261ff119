"""How recorded data are divided into the instants of a replay (SEMANTICS section 16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Generic, Protocol, TypedDict, TypeVar, cast

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, ElementError
from flowalg.data.time import Micros, ProcessingTime, duration_of
from flowalg.elementwise.steps import WithTimestamps
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import event_time_step
from flowalg.runs.micro_batches import multiples_between
from flowalg.watermarks import WatermarkPolicy

C = TypeVar("C")


class _Ordered(Protocol):
    def __lt__(self, other: object, /) -> bool: ...


@frozen
class ReplayInstant:
    """An instant of a replay: its processing time, and the ``key`` of its rows, which is ``None`` without rows."""

    processing_time: ProcessingTime
    key: object = None
    ends: bool = False


@frozen
class Division:
    """How the rows of all sources are divided into instants, and whether the input ends after the last of them.

    Rows of one period of processing time are one instant, and each processing time is a period of its own unless
    ``every`` is longer. With ``by_column``, rows with one value of a column are an instant instead.
    """

    every: timedelta | None = None
    by_column: bool = False
    tick: timedelta | None = None
    ends: bool = field(default=True, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for name in ("every", "tick"):
            if (duration := getattr(self, name)) is not None:
                duration_of(name, duration, allow_zero=False)
        if self.every is not None and self.by_column:
            raise ArgumentError("every", self.every, "None if a column names the micro-batch of each row")
        if not isinstance(self.ends, bool):
            raise ArgumentError("ends", self.ends, "a bool")

    @property
    def period(self) -> Micros:
        """The length of a period in microseconds; periods are aligned to the epoch."""
        return 1 if self.every is None else self.every // timedelta(microseconds=1)

    def instants(self, latest: Iterable[tuple[object, ProcessingTime]]) -> Iterator[ReplayInstant]:
        """Yields the instants of a replay in order, from each source's keys with their greatest processing times.

        An instant is at the greatest processing time of its rows, and not before the previous one. With ``tick`` there
        is an instant without rows at each multiple of it between two others.
        """
        times: dict[object, ProcessingTime] = {}
        for key, time in latest:
            times[key] = max(times.get(key, time), time)
        now: ProcessingTime | None = None
        for key in _in_order(times):
            time = times[key]
            if now is not None:
                time = max(now, time)
                if self.tick is not None:
                    ticks = multiples_between(now, time, self.tick // timedelta(microseconds=1))
                    yield from map(ReplayInstant, ticks)
            yield ReplayInstant(time, key)
            now = time
        if now is not None and self.ends:
            yield ReplayInstant(now, ends=True)


class ReplayOptions(TypedDict, Generic[C], total=False):
    """The options of ``replay`` on every engine, which says what they mean. A column has the type ``C``."""

    watermark: WatermarkPolicy | None
    processing_time: C | None
    every: timedelta | None
    micro_batch: C | None
    tick: timedelta | None
    ends: bool
    dead_letters: bool
    late_data: bool


@frozen
class Replay(Generic[C]):
    """``ReplayOptions`` as a value, with their defaults."""

    watermark: WatermarkPolicy | None = None
    processing_time: C | None = None
    every: timedelta | None = None
    micro_batch: C | None = None
    tick: timedelta | None = None
    ends: bool = True
    dead_letters: bool = False
    late_data: bool = False

    @property
    def division(self) -> Division:
        """How rows are divided into instants; raises ``ArgumentError`` for invalid options."""
        return Division(self.every, self.micro_batch is not None, self.tick, ends=self.ends)


def require_places(source: str, argument: str, nulls: int, rows: int) -> None:
    """Raises ``ElementError`` if the column that an argument names is null in some rows of a source."""
    if nulls:
        raise ElementError(
            f"source {source!r}: {argument} must not be null, since a row without it has no place in the replay; it is "
            f"null in {nulls} of {rows} rows"
        )


def require_event_times(source: SourceNode, stream: object, marks: Iterable[str]) -> WithTimestamps:
    """Returns the function whose event times order the rows of a source; raises ``ArgumentError`` if they cannot.

    They cannot if they are those of arrival, or if some rows are not records; ``marks`` are the arguments of the
    ``StreamInput`` that mark such rows.
    """
    step = event_time_step(source)
    if step is None:
        why = f"the event times of source {source.name!r} are those of arrival"
        raise ArgumentError("processing_time", None, "a column", why=why)
    for name in marks:
        if getattr(stream, name) is not None:
            why = f"the rows of source {source.name!r} that StreamInput.{name} marks have no event time"
            raise ArgumentError("processing_time", None, "a column", why=why)
    return step


def _in_order(keys: Iterable[object]) -> Sequence[object]:
    try:
        return sorted(cast("Iterable[_Ordered]", keys))
    except TypeError:
        kinds = sorted({type(key).__name__ for key in keys})
        raise ArgumentError("micro_batch", kinds, "a column of the same type in all sources") from None
