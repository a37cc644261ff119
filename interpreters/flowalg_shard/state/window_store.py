"""What a shard remembers of its windows, kept so that an instant pays for those that it looks at.

It is a log of *segments*. An instant takes the windows out that its elements may meet or that a clock wakes, and what
becomes of them is a new segment, which hides them in all older ones. Segments never change, so that one that is stored
stays as it is; those of like size are merged, so that there are few.

Windows move by *class*: all that one key and window has, or all that one key has where windows merge. Classes are told
by a hash, and two that share one simply move together.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final
from uuid import uuid4

import polars as pl
from attrs import evolve, field, frozen

from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg_shard.clocks.clocks import Clocks
from flowalg_shard.step.dormancy import (
    NEVER,
    NEXT_TIME,
    NEXT_WATERMARK,
    activates_all,
    greatest_watermark,
    with_wakeups,
)
from flowalg_shard.step.panes import HOLD
from flowalg_shard.step.shard_state import ShardState
from flowalg_shard.step.stage import Stage
from flowalg_shard.tables.packing import pack, stack, unpack

CLASS: Final = "__class"

_FEW: Final = 2
"""A segment of no more than so many times the size of the one after it is merged with it."""


def class_columns(stage: Stage) -> tuple[str, ...]:
    """The columns that tell classes apart."""
    return stage.window_key if stage.merging is None else stage.keys


def classes_of(table: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """The class of each row."""
    if not by:
        return pl.repeat(0, table.height, dtype=pl.UInt64(), eager=True).alias(CLASS)
    return table.select(by).hash_rows().alias(CLASS)


def with_class(table: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The rows with their class, in its order."""
    if table.is_empty():
        return table
    known = classes_of(table, by)
    classed = table.with_columns(known)
    return classed if known.is_sorted() else classed.sort(CLASS)


@frozen(eq=False)
class Segment:
    """Windows as one instant left them, or several, by class; and those classes that were left with none.

    ``rows`` are windows with until when they rest, ``standing`` are the panes that stand of them, and ``gone`` has the
    classes that are hidden in older segments and have no window here. Classes are told apart by the columns ``by``.
    """

    by: tuple[str, ...]
    rows: pl.DataFrame
    standing: pl.DataFrame
    gone: pl.DataFrame
    name: str = field(factory=lambda: uuid4().hex)

    @cached_property
    def classes(self) -> pl.Series:
        """The classes that it hides in older segments."""
        found = [one[CLASS] for one in (self.rows, self.gone) if not one.is_empty()]
        return pl.concat(found).unique() if found else _NO_CLASSES

    @cached_property
    def packed(self) -> bytes:
        """The segment as bytes, without what can be computed anew."""
        rows, standing = (pack(one.drop(CLASS, strict=False)) for one in (self.rows, self.standing))
        return pickle.dumps((self.by, rows, standing, pack(self.gone)))

    @classmethod
    def unpacked(cls, name: str, payload: bytes) -> Segment:
        """The segment of some bytes."""
        by, *tables = pickle.loads(payload)  # of our own making
        rows, standing, gone = (with_class(unpack(one), by) for one in tables)
        return cls(by, rows, standing, gone, name)

    @cached_property
    def size(self) -> int:
        """How many bytes its tables take."""
        return sum(int(one.estimated_size()) for one in (self.rows, self.standing, self.gone))

    @cached_property
    def wakes(self) -> int:
        """The least watermark that any window rests until."""
        return _least(self.rows, NEXT_WATERMARK, NEVER)

    @cached_property
    def due(self) -> int:
        """The least processing time that any window rests until."""
        return _least(self.rows, NEXT_TIME, NEVER)

    @cached_property
    def hold(self) -> int:
        """The least event time that any window holds back."""
        return _least(self.rows, HOLD, MAX_TIME)


_NO_CLASSES: Final = pl.Series(CLASS, [], pl.UInt64())


@frozen(eq=False)
class Part:
    """A segment less what newer ones hide. The masks have what is still to be seen of it."""

    segment: Segment
    rows: pl.Series
    standing: pl.Series

    @classmethod
    def whole(cls, segment: Segment) -> Part:
        """A segment of which nothing is hidden."""
        return cls(segment, _all(segment.rows), _all(segment.standing))

    @cached_property
    def size(self) -> int:
        """How many windows are to be seen, and how many classes are hidden."""
        return int(self.rows.sum()) + self.segment.gone.height

    @property
    def windows(self) -> pl.DataFrame:
        """The windows that are to be seen."""
        return self.segment.rows.filter(self.rows)

    @property
    def panes(self) -> pl.DataFrame:
        """The panes that stand of them."""
        return self.segment.standing.filter(self.standing)

    def woken(self, clocks: Clocks) -> pl.Series:
        """The classes of windows that the clocks wake."""
        top, segment = greatest_watermark(clocks), self.segment
        if segment.wakes > top and segment.due > clocks.processing_time:
            return _NO_CLASSES
        rows = segment.rows.lazy().select(CLASS, NEXT_WATERMARK, NEXT_TIME).filter(self.rows)
        return rows.filter(
            (pl.col(NEXT_WATERMARK) <= top) | (pl.col(NEXT_TIME) <= clocks.processing_time)
        ).collect()[CLASS]

    def taken(self, classes: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame, Part]:
        """The windows of some classes with the panes that stand of them, and what is left."""
        rows, rows_left = _taken(self.segment.rows, self.rows, classes)
        standing, standing_left = _taken(self.segment.standing, self.standing, classes)
        if rows.is_empty() and standing.is_empty():
            return rows, standing, self
        return rows, standing, evolve(self, rows=rows_left, standing=standing_left)

    @cached_property
    def hold(self) -> int:
        """The least event time that a window that is to be seen holds back."""
        return self._least(HOLD, self.segment.hold, MAX_TIME)

    @cached_property
    def due(self) -> int:
        """The least processing time that a window that is to be seen rests until."""
        return self._least(NEXT_TIME, self.segment.due, NEVER)

    def _least(self, name: str, of_all: int, otherwise: int) -> int:
        """The least of a column, of which the least of the whole segment is known."""
        if of_all == otherwise or self.rows.all():
            return of_all
        return _least(self.segment.rows.select(name).filter(self.rows), name, otherwise)


@frozen(eq=False)
class Memory:
    """What a shard remembers: parts, the oldest first. If it is ``alarmed`` the next instant looks at everything."""

    parts: tuple[Part, ...] = ()
    alarmed: bool = False

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments to be stored, the oldest first."""
        return tuple(part.segment for part in self.parts)

    @classmethod
    def restored(cls, names: Sequence[str], segment: Callable[[str], Segment]) -> Memory:
        """The memory of some stored segments, the oldest first."""
        parts: list[Part] = []
        hidden: list[pl.Series] = []
        for name in reversed(names):
            part = Part.whole(segment(name))
            if hidden:
                _, _, part = part.taken(pl.concat(hidden).unique())
            parts.insert(0, part)
            hidden.append(part.segment.classes)
        return cls(tuple(parts))

    @property
    def everything(self) -> Awake:
        """All windows, as if none rested."""
        rows = stack([part.windows for part in self.parts])
        return Awake(rows, stack([part.panes for part in self.parts]), Memory())

    @property
    def next_deadline(self) -> ProcessingTime | None:
        """When a trigger becomes ready by itself; ``None`` if none."""
        soonest = min((part.due for part in self.parts), default=NEVER)
        return None if soonest == NEVER else ProcessingTime(soonest)

    def awake(self, stage: Stage, arriving: Iterable[pl.DataFrame], clocks: Clocks) -> Awake:
        """The windows that an instant looks at, taken out: those that elements may meet, and those that are woken."""
        if self.alarmed or activates_all(stage, clocks):
            return self.everything
        by = class_columns(stage)
        wanted = [classes_of(one, by) for one in arriving if not one.is_empty()]
        wanted += [part.woken(clocks) for part in self.parts]
        classes = pl.concat(wanted).unique() if wanted else _NO_CLASSES
        found = [part.taken(classes) for part in self.parts] if len(classes) else []
        rows, standing = stack([one for one, _, _ in found]), stack([one for _, one, _ in found])
        return Awake(rows, standing, Memory(tuple(part for _, _, part in found)) if found else self)

    @property
    def windows(self) -> int:
        """How many windows there are."""
        return sum(int(part.rows.sum()) for part in self.parts)

    @property
    def size(self) -> int:
        """How many bytes its segments take."""
        return sum(part.segment.size for part in self.parts)

    @property
    def hold(self) -> EventTime:
        """The least event time that is held back."""
        return EventTime(min((part.hold for part in self.parts), default=MAX_TIME))

    def followed_by(self, segment: Segment) -> Memory:
        """The memory with a segment more, merged with those before it that are not much larger."""
        parts = [*self.parts, Part.whole(segment)]
        while len(parts) > 1 and parts[-2].size <= _FEW * parts[-1].size:
            newer, older = parts.pop(), parts.pop()
            parts.append(Part.whole(_merged(older, newer, oldest=not parts)))
        if len(parts) == 1 and parts[0].segment.rows.is_empty():
            return Memory()
        return Memory(tuple(parts))


@frozen(eq=False)
class Awake:
    """The windows that an instant looks at, the panes that stand of them, and the memory of those that rest."""

    rows: pl.DataFrame
    standing: pl.DataFrame
    resting: Memory

    def state(self, watermark: EventTime) -> ShardState:
        """What a step is given. ``watermark`` is what it was in the instant before."""
        table = self.rows.drop(CLASS, NEXT_WATERMARK, NEXT_TIME, HOLD, strict=False)
        return ShardState(table, watermark, self.standing.drop(CLASS, strict=False))

    def then(self, stage: Stage, after: ShardState, clocks: Clocks) -> Memory:
        """What is remembered after a step."""
        by = class_columns(stage)
        rows = after.windows
        if not rows.is_empty():
            rows = with_class(with_wakeups(stage, after, clocks), by)
        gone = _gone([self.rows], rows, by)
        if rows.is_empty() and gone.is_empty():
            return self.resting
        return self.resting.followed_by(Segment(by, rows, with_class(after.current_panes, by), gone))


def _merged(older: Part, newer: Part, *, oldest: bool) -> Segment:
    """Two segments, one right after the other, as one; the oldest of all has nothing to hide."""
    rows = stack([older.windows, newer.windows])
    standing = stack([older.panes, newer.panes])
    rows, standing = (one if one.is_empty() else one.sort(CLASS) for one in (rows, standing))
    by = newer.segment.by
    hidden = [
        one for part in (older, newer) for one in (part.segment.gone, part.segment.rows.filter(~part.rows))
    ]
    return Segment(by, rows, standing, pl.DataFrame() if oldest else _gone(hidden, rows, by))


def _gone(hidden: list[pl.DataFrame], rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The classes of what is hidden that have no row."""
    gone = stack([one.select(*by, CLASS) for one in hidden if not one.is_empty()])
    if gone.is_empty():
        return gone
    gone = gone.unique(CLASS).sort(CLASS)
    return gone if rows.is_empty() else gone.join(rows, on=CLASS, how="anti", maintain_order="left")


def _taken(table: pl.DataFrame, seen: pl.Series, classes: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """The rows of some classes that are to be seen, and the mask without them. The table is in order of class."""
    if table.is_empty():
        return table, seen
    places = _places(table[CLASS], classes)
    places = places.filter(seen.gather(places))
    if not len(places):
        return table.clear(), seen
    return table[places], seen.clone().scatter(places, False)


def _places(ordered: pl.Series, classes: pl.Series) -> pl.Series:
    """Where some classes are, which come in order."""
    first = ordered.search_sorted(classes, "left")
    after = ordered.search_sorted(classes, "right")
    found = pl.DataFrame({"first": first, "after": after}).filter(pl.col("after") > pl.col("first"))
    return found.select(pl.int_ranges("first", "after").explode())["first"]


def _least(table: pl.DataFrame, name: str, otherwise: int) -> int:
    least = None if table.is_empty() else table[name].min()
    assert least is None or isinstance(least, int)
    return otherwise if least is None else least


def _all(table: pl.DataFrame) -> pl.Series:
    return pl.repeat(True, table.height, eager=True)


__all__ = ["Awake", "Memory", "Segment"]
