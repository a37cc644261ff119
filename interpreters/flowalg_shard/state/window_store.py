"""The windows of a shard as a log of segments, so that the cost of an instant is that of its active windows.

An instant takes out its *active* windows: those that elements may join, and those that are due by a clock. It appends
their new states as a segment, which hides them in all older segments. A segment never changes, so it is stored once;
segments of similar size are compacted, so that there are few.

Windows are looked up by the hash of their key: of key and window, or of the key alone where windows merge. Windows with
the same hash are taken out and hidden together. That is harmless, and it keeps windows together that may merge.

A segment that has hardly more windows than elements arrive is taken out whole, without lookups, so what lookups need
(when a window is due, and the order of hashes) is computed when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final
from uuid import uuid4

import polars as pl
from attrs import define, field, frozen

from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg.evolution.documents import structures_of
from flowalg.evolution.structure import Structure
from flowalg.runs.clocks import Clocks
from flowalg.serialization.stored import read, store
from flowalg_shard.contents.stage import Stage
from flowalg_shard.state.dormancy import (
    NEVER,
    NEXT_TIME,
    NEXT_WATERMARK,
    activates_all,
    greatest_watermark,
    with_wakeups,
)
from flowalg_shard.state.objects import class_names
from flowalg_shard.step.panes import HOLD
from flowalg_shard.step.shard_state import ShardState
from flowalg_shard.tables.packing import pack, pack_parts, stack, unpack, unpack_parts
from flowalg_shard.tables.queries import without

KEY_HASH: Final = "__key_hash"

_LOOKUP: Final = (KEY_HASH, NEXT_WATERMARK, NEXT_TIME, HOLD)
"""The columns that only the store needs."""

_FEW: Final = 2
"""A segment of at most so many times the size of the next one is compacted with it."""

WHOLE: Final = 2
"""A segment of at most so many windows for each arriving row is taken out whole."""


def hashed_columns(stage: Stage) -> tuple[str, ...]:
    """Returns the columns whose hash windows are looked up by."""
    return stage.window_key if stage.merging is None else stage.keys


def hash_rows(table: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Returns the hash of each row."""
    if not columns:
        return pl.repeat(0, table.height, dtype=pl.UInt64(), eager=True).alias(KEY_HASH)
    return table.select(columns).hash_rows().alias(KEY_HASH)


def sort_by_hash(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Returns the rows with their hash, in its order."""
    if table.is_empty():
        return table
    hashes = hash_rows(table, columns)
    hashed = table.with_columns(hashes)
    return hashed if hashes.is_sorted() else hashed.sort(KEY_HASH)


@define(eq=False)
class Segment:
    """Windows as they were after one instant or several, and the tombstones of removed ones.

    ``current_panes`` are those of the windows. ``tombstones`` have the hashes that this segment hides in older segments
    without a window of its own. Hashes are of the columns ``hashed``. ``plain`` are the windows without the columns
    ``NEXT_WATERMARK``, ``NEXT_TIME`` and ``HOLD``; ``wake_up`` returns the windows with them, and is
    ``None`` once ``plain`` has them.
    """

    hashed: tuple[str, ...]
    plain: pl.DataFrame
    current_panes: pl.DataFrame
    tombstones: pl.DataFrame
    wake_up: Callable[[], pl.DataFrame] | None = None
    name: str = field(factory=lambda: uuid4().hex)
    _classes: frozenset[str] | None = field(default=None, alias="classes")
    _ordered: bool = False

    def wake_up_windows(self) -> None:
        """Adds the columns that say when windows are due, if they are not there yet."""
        if self.wake_up is not None:
            self.plain, self.wake_up = self.wake_up(), None

    @property
    def windows(self) -> pl.DataFrame:
        """The windows, with the columns that say when they are due."""
        self.wake_up_windows()
        return self.plain

    def order(self) -> None:
        """Sorts windows and current panes by their hash, which becomes a column, if they are not sorted yet."""
        if not self._ordered:
            self.plain = sort_by_hash(self.windows, self.hashed)
            self.current_panes = sort_by_hash(self.current_panes, self.hashed)
            self._ordered = True

    @property
    def hashes(self) -> pl.Series:
        """The hashes that this segment hides in older segments."""
        self.order()
        tables = [table[KEY_HASH] for table in (self.windows, self.tombstones) if not table.is_empty()]
        return pl.concat(tables).unique() if tables else _NO_HASHES

    @cached_property
    def packed(self) -> bytes:
        """The segment as bytes. Its hashes are those of this version of Polars, so they are computed again from it."""
        windows, panes = (
            pack(table.drop(KEY_HASH, strict=False)) for table in (self.windows, self.current_panes)
        )
        header = store((self.hashed, tuple(sorted(self.classes))))
        return pack_parts(header, windows, panes, pack(self.tombstones))

    @cached_property
    def classes(self) -> frozenset[str]:
        """The names of the classes whose objects its tables have as they are; stored bytes have them too."""
        return class_names((self.plain, self.current_panes)) if self._classes is None else self._classes

    @classmethod
    def restore(cls, name: str, payload: bytes) -> Segment:
        """Returns the segment of packed bytes."""
        names, *tables = unpack_parts(payload)
        (hashed, classes), (windows, panes, tombstones) = read(names, tuple), map(unpack, tables)
        hidden = sort_by_hash(tombstones, hashed)
        return cls(hashed, windows, panes, hidden, name=name, classes=frozenset(classes))

    @cached_property
    def size(self) -> int:
        """The size of its tables in bytes, without the columns for lookups, which may not be there yet."""
        tables = (self.plain, self.current_panes, self.tombstones)
        return sum(int(table.drop(_LOOKUP, strict=False).estimated_size()) for table in tables)

    @cached_property
    def next_watermark(self) -> int:
        """The least watermark at which a window is due."""
        return _least(self.windows, NEXT_WATERMARK, NEVER)

    @cached_property
    def next_time(self) -> int:
        """The least processing time at which a window is due."""
        return _least(self.windows, NEXT_TIME, NEVER)

    @cached_property
    def hold(self) -> int:
        """The least hold of its windows."""
        return _least(self.windows, HOLD, MAX_TIME)


_NO_HASHES: Final = pl.Series(KEY_HASH, [], pl.UInt64())


@frozen
class Masks:
    """Which windows and current panes of a segment are visible, in the order of their hashes."""

    windows: pl.Series
    panes: pl.Series


@frozen(eq=False)
class VisibleSegment:
    """A segment without the rows that newer segments hide; without masks all of it is visible."""

    segment: Segment
    masks: Masks | None = None

    @cached_property
    def window_count(self) -> int:
        """The number of visible windows."""
        return self.segment.plain.height if self.masks is None else int(self.masks.windows.sum())

    @property
    def size(self) -> int:
        """The number of visible windows and tombstones."""
        return self.window_count + self.segment.tombstones.height

    @property
    def windows(self) -> pl.DataFrame:
        """The visible windows."""
        return self.segment.plain if self.masks is None else self.segment.plain.filter(self.masks.windows)

    @property
    def current_panes(self) -> pl.DataFrame:
        """Their current panes."""
        panes = self.segment.current_panes
        return panes if self.masks is None else panes.filter(self.masks.panes)

    @property
    def hidden(self) -> list[pl.DataFrame]:
        """The tombstones of the segment, and its windows that are not visible."""
        masks, tombstones = self.masks, self.segment.tombstones
        return [tombstones] if masks is None else [tombstones, self.segment.plain.filter(~masks.windows)]

    def due(self, clocks: Clocks) -> pl.Series:
        """Returns the hashes of the windows that are due by the clocks."""
        watermark, segment = greatest_watermark(clocks), self.segment
        if segment.next_watermark > watermark and segment.next_time > clocks.processing_time:
            return _NO_HASHES
        segment.order()
        windows = segment.windows.lazy().select(KEY_HASH, NEXT_WATERMARK, NEXT_TIME)
        due = (pl.col(NEXT_WATERMARK) <= watermark) | (pl.col(NEXT_TIME) <= clocks.processing_time)
        visible = windows if self.masks is None else windows.filter(self.masks.windows)
        return visible.filter(due).collect()[KEY_HASH]

    def take(self, hashes: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame, VisibleSegment]:
        """Returns the windows with some hashes, their current panes, and what stays visible."""
        self.segment.order()
        windows, panes = self.segment.windows, self.segment.current_panes
        masks = self.masks or Masks(_all_true(windows), _all_true(panes))
        windows, windows_left = _take(windows, masks.windows, hashes)
        panes, panes_left = _take(panes, masks.panes, hashes)
        if windows.is_empty() and panes.is_empty():
            return windows, panes, self
        return windows, panes, VisibleSegment(self.segment, Masks(windows_left, panes_left))

    @cached_property
    def hold(self) -> int:
        """The least hold of the visible windows."""
        return self._least(HOLD, self.segment.hold, MAX_TIME)

    @cached_property
    def next_time(self) -> int:
        """The least processing time at which a visible window is due."""
        return self._least(NEXT_TIME, self.segment.next_time, NEVER)

    def _least(self, name: str, of_segment: int, otherwise: int) -> int:
        """Returns the least visible value of a column, given the least of the whole segment."""
        if of_segment == otherwise or self.masks is None or self.masks.windows.all():
            return of_segment
        return _least(self.segment.windows.select(name).filter(self.masks.windows), name, otherwise)


@frozen(eq=False)
class WindowStore:
    """The windows of a shard between instants: visible segments, the oldest first.

    With ``evaluate_all`` the next instant activates every window.
    """

    parts: tuple[VisibleSegment, ...] = ()
    evaluate_all: bool = False

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments to be stored, the oldest first."""
        return tuple(part.segment for part in self.parts)

    @classmethod
    def restore(cls, names: Sequence[str], segment: Callable[[str], Segment]) -> WindowStore:
        """Returns the store of some stored segments, the oldest first."""
        parts: list[VisibleSegment] = []
        hidden: list[pl.Series] = []
        for name in reversed(names):
            part = VisibleSegment(segment(name))
            if hidden:
                _, _, part = part.take(pl.concat(hidden).unique())
            parts.insert(0, part)
            hidden.append(part.segment.hashes)
        return cls(tuple(parts))

    def activate_all(self) -> ActiveWindows:
        """Returns all windows, dormant or not, taken out."""
        return ActiveWindows.of(self.parts, WindowStore(), [])

    @property
    def next_deadline(self) -> ProcessingTime | None:
        """When a trigger becomes ready without new elements; ``None`` if none does."""
        soonest = min((part.next_time for part in self.parts), default=NEVER)
        return None if soonest == NEVER else ProcessingTime(soonest)

    def activate(self, stage: Stage, arriving: Iterable[pl.DataFrame], clocks: Clocks) -> ActiveWindows:
        """Returns the active windows of an instant, taken out: those that elements may join, and those that are due."""
        if activates_all(stage, clocks):
            return self.activate_all()
        return self.activate_rows(hashed_columns(stage), arriving, clocks)

    def activate_rows(
        self, hashed: tuple[str, ...], arriving: Iterable[pl.DataFrame], clocks: Clocks
    ) -> ActiveWindows:
        """Returns the rows that arriving ones have the hash of, and those that are due; ``hashed`` are the columns
        hashed.
        """
        if self.evaluate_all:
            return self.activate_all()
        bundles = [table for table in arriving if not table.is_empty()]
        many = WHOLE * sum(table.height for table in bundles)
        whole = [part for part in self.parts if part.window_count <= many]
        others = [part for part in self.parts if part.window_count > many]
        if not others:
            return self.activate_all()
        wanted = [hash_rows(table, hashed) for table in bundles] + [part.due(clocks) for part in others]
        hashes = pl.concat(wanted).unique() if wanted else _NO_HASHES
        if not len(hashes):
            return ActiveWindows.of(whole, WindowStore(tuple(others)), [])
        taken = [part.take(hashes) for part in others]
        dormant = WindowStore(tuple(part for _, _, part in taken))
        return ActiveWindows.of(whole, dormant, [(windows, panes) for windows, panes, _ in taken])

    @property
    def classes(self) -> dict[str, Structure]:
        """The structures of the classes whose objects its segments have as they are, by name."""
        return structures_of(frozenset().union(*(segment.classes for segment in self.segments)))

    @property
    def window_count(self) -> int:
        """The number of windows."""
        return sum(part.window_count for part in self.parts)

    @property
    def size(self) -> int:
        """The size of its segments in bytes."""
        return sum(part.segment.size for part in self.parts)

    @property
    def hold(self) -> EventTime:
        """The least hold of all windows."""
        return EventTime(min((part.hold for part in self.parts), default=MAX_TIME))

    def append(self, segment: Segment) -> WindowStore:
        """Returns the store with one more segment, compacted with those before it that are not much larger."""
        parts = [*self.parts, VisibleSegment(segment)]
        while len(parts) > 1 and parts[-2].size <= _FEW * parts[-1].size:
            newer, older = parts.pop(), parts.pop()
            parts.append(VisibleSegment(_compact(older, newer, oldest=not parts)))
        if len(parts) == 1 and parts[0].segment.plain.is_empty():
            return WindowStore()
        return WindowStore(tuple(parts))


@frozen(eq=False)
class ActiveWindows:
    """The windows that an instant evaluates, their current panes, and the store of the dormant ones.

    ``hidden`` has rows whose hashes must stay hidden in the segments of the dormant windows.
    """

    windows: pl.DataFrame
    current_panes: pl.DataFrame
    dormant: WindowStore
    hidden: Sequence[pl.DataFrame]

    @classmethod
    def of(
        cls,
        whole: Sequence[VisibleSegment],
        dormant: WindowStore,
        taken: Sequence[tuple[pl.DataFrame, pl.DataFrame]],
    ) -> ActiveWindows:
        """Whole segments, and windows with their current panes that were taken from others."""
        tables = [*((part.windows, part.current_panes) for part in whole), *taken]
        windows = stack([without(windows, _LOOKUP) for windows, _ in tables])
        panes = stack([without(panes, _LOOKUP) for _, panes in tables])
        hidden = [] if not dormant.parts else [windows, *(table for part in whole for table in part.hidden)]
        return cls(windows, panes, dormant, hidden)

    def shard_state(self, watermark: EventTime) -> ShardState:
        """Returns the state for the step, with the watermark of the instant before."""
        return ShardState(self.windows, watermark, self.current_panes)

    def put_back(self, stage: Stage, after: ShardState, clocks: Clocks) -> WindowStore:
        """Returns the store with the active windows as they are after the step."""

        def wake_up() -> pl.DataFrame:
            return with_wakeups(stage, after, clocks)

        return self.put_rows_back(hashed_columns(stage), after.windows, after.current_panes, wake_up)

    def put_rows_back(
        self,
        hashed: tuple[str, ...],
        rows: pl.DataFrame,
        current_panes: pl.DataFrame,
        wake_up: Callable[[], pl.DataFrame],
    ) -> WindowStore:
        """Returns the store with the active rows as they are now; ``wake_up`` returns them with when they are due."""
        tombstones = _tombstones(self.hidden, rows, hashed)
        if rows.is_empty() and tombstones.is_empty():
            return self.dormant
        needed = None if rows.is_empty() else wake_up
        return self.dormant.append(Segment(hashed, rows, current_panes, tombstones, needed))


def _compact(older: VisibleSegment, newer: VisibleSegment, *, oldest: bool) -> Segment:
    """Two successive segments as one; the oldest of all needs no tombstones."""
    for part in (older, newer):
        part.segment.order()
    windows = stack([older.windows, newer.windows])
    panes = stack([older.current_panes, newer.current_panes])
    hashed = newer.segment.hashed
    hidden = [] if oldest else [*older.hidden, *newer.hidden]
    return Segment(hashed, windows, panes, _tombstones(hidden, windows, hashed))


def _tombstones(hidden: Sequence[pl.DataFrame], windows: pl.DataFrame, hashed: Sequence[str]) -> pl.DataFrame:
    """Returns the hashes of hidden rows that no window has."""
    tables = [
        table.select(hashed).with_columns(hash_rows(table, hashed))
        for table in hidden
        if not table.is_empty()
    ]
    if not tables:
        return pl.DataFrame()
    tombstones = pl.concat(tables).unique(KEY_HASH).sort(KEY_HASH)
    if windows.is_empty():
        return tombstones
    hashes = hash_rows(windows, hashed).implode()
    return tombstones.filter(~pl.col(KEY_HASH).is_in(hashes))


def _take(table: pl.DataFrame, visible: pl.Series, hashes: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Returns the visible rows with some hashes, and the mask without them. The table is sorted by hash."""
    if table.is_empty():
        return table, visible
    positions = _positions(table[KEY_HASH], hashes)
    positions = positions.filter(visible.gather(positions))
    if not len(positions):
        return table.clear(), visible
    return table[positions], visible.clone().scatter(positions, False)


def _positions(ordered: pl.Series, hashes: pl.Series) -> pl.Series:
    """Returns the positions of some hashes in a sorted column, most of which it may not have."""
    first = ordered.search_sorted(hashes, "left")
    is_present = ordered.gather(first.clip(upper_bound=len(ordered) - 1)) == hashes
    first, after = first.filter(is_present), ordered.search_sorted(hashes.filter(is_present), "right")
    ranges = pl.DataFrame({"first": first, "after": after})
    return ranges.select(pl.int_ranges("first", "after").explode())["first"]


def _least(table: pl.DataFrame, name: str, otherwise: int) -> int:
    least = None if table.is_empty() else table[name].min()
    assert least is None or isinstance(least, int)
    return otherwise if least is None else least


def _all_true(table: pl.DataFrame) -> pl.Series:
    return pl.repeat(True, table.height, eager=True)
