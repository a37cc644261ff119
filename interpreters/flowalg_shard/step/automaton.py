"""The trigger automaton over tables: all windows of a shard observe, fire and are reset at once (SEMANTICS section 6).

A trigger is compiled once. What varies of its state lies in a few columns: for each once-trigger that watches by
itself the summary of what it has seen since it was set (``seen.py``), for each sequence its active member,
and for the whole whether it has finished. A member of a sequence that is not active observes like the others, which
changes nothing: it is reset when it becomes active.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, assert_never

import polars as pl
from attrs import frozen

from flowalg.data.time import Micros, duration_of
from flowalg.triggers.syntax import (
    AfterDelay,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtWatermark,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)
from flowalg_shard.clocks.clocks import Clocks
from flowalg_shard.step.trigger_summary import COUNT, SINCE, Fields, leaves

CLOSED: Final = "__closed"
FIRES: Final = "__fires"

_FAR: Final = 2**62
"""Beyond all of processing time, and still so when a point in time is added to it."""


@frozen
class Watch:
    """A once-trigger that fires and is reset as a whole. ``prefix`` names the columns of what it has seen."""

    prefix: str
    once: OnceTrigger
    fields: Fields

    @property
    def holds(self) -> str:
        """The column that says whether it is ready."""
        return self.prefix + "holds"


@frozen
class InTurn:
    """A sequence; ``active`` is the column that says which member is watching."""

    active: str
    members: tuple[Part, ...]


@frozen
class Again:
    """What is repeated."""

    inner: Part


@frozen
class Limited:
    """An ``OrFinally``."""

    main: Part
    until: Watch


Part: TypeAlias = Watch | InTurn | Again | Limited
"""A compiled trigger."""


@frozen
class Automaton:
    """A compiled trigger. Its methods give columns of a table that has a row for each window.

    Law: row by row it is the trigger automaton of the reference interpreter.
    """

    trigger: Trigger
    fields: Fields
    root: Part
    watches: tuple[Watch, ...]
    finishes: bool

    @classmethod
    def of(cls, trigger: Trigger) -> Automaton:
        """Compile a trigger. Raises ``UnsupportedError`` for an ``AtMeasure`` that needs more than 64 bits."""
        fields = Fields.of(trigger)
        root = _compiled(trigger, fields, "__t")
        return cls(trigger, fields, root, tuple(_watches(root)), _finishes(root))

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of the state, with their types."""
        closed: dict[str, pl.DataType] = {CLOSED: pl.Boolean()} if self.finishes else {}
        return {**_columns(self.root), **closed}

    @property
    def percentiles(self) -> frozenset[float]:
        """The percentile watermarks that the trigger looks at."""
        wanted = (one.percentile for one in leaves(self.trigger) if isinstance(one, AtWatermark))
        return frozenset(one for one in wanted if one is not None)

    def start(self) -> dict[str, pl.Expr]:
        """The state of a trigger that has seen nothing yet."""
        closed = {CLOSED: pl.lit(False)} if self.finishes else {}
        return {**_reset(self.root), **closed}

    def observed(self, prefix: str) -> dict[str, pl.Expr]:
        """The state after the elements of the summary at ``prefix``; null there is none."""
        return {
            name: expr
            for watch in self.watches
            for name, expr in watch.fields.merged(watch.prefix, prefix).items()
        }

    def signalled(self, given: Iterable[str]) -> dict[str, pl.Expr]:
        """The state after some signals, as far as anything waits for them."""
        names = tuple(given)
        return {
            name: expr
            for watch in self.watches
            for name, expr in watch.fields.signalled(watch.prefix, names).items()
        }

    def evaluate(self, table: pl.DataFrame, end: str, clocks: Clocks) -> pl.DataFrame:
        """The table with ``FIRES``, and with the state after those that are ready have fired.

        ``end`` is the column of the ends of windows.
        """
        holds = {watch.holds: _holds(watch.once, watch, end, clocks) for watch in self.watches}
        known = table.with_columns(**holds)
        fires = _ready(self.root)
        if self.finishes:
            fires &= ~pl.col(CLOSED)
        known = known.with_columns(fires.alias(FIRES))
        finished, after = _fired(self.root)
        moved = {
            name: pl.when(FIRES).then(expr).otherwise(pl.col(name)).alias(name)
            for name, expr in after.items()
        }
        if self.finishes:
            moved[CLOSED] = pl.col(CLOSED) | (pl.col(FIRES) & finished)
        return (known.with_columns(**moved) if moved else known).drop(holds)

    def next_deadline(self, end: str, clocks: Clocks) -> pl.Expr | None:
        """When, after now, the trigger becomes ready by itself; ``None`` if none of it looks at the processing time.

        ``end`` is the column of the ends of windows, and ``clocks`` are those of the last instant.
        """
        points = [
            pl.when(active & (point > clocks.processing_time)).then(point)
            for watch, active in _active(self.root, pl.lit(True))
            if watch.fields.times
            for point in (_holds_at(watch.once, watch, end, clocks),)
        ]
        if not points:
            return None
        soonest = pl.min_horizontal(points)
        return pl.when(~pl.col(CLOSED)).then(soonest) if self.finishes else soonest


def _compiled(trigger: Trigger, fields: Fields, name: str) -> Part:
    match trigger:
        case SequenceOf(triggers=members):
            parts = (_compiled(one, fields, f"{name}.{number}") for number, one in enumerate(members))
            return InTurn(f"{name}.active", tuple(parts))
        case Repeat(trigger=inner):
            return Again(_compiled(inner, fields, f"{name}.again"))
        case OrFinally(main=main, until_=until):
            limit = Watch(f"{name}.until.", until, fields.only(until))
            return Limited(_compiled(main, fields, f"{name}.main"), limit)
        case _:
            return Watch(f"{name}.", trigger, fields.only(trigger))


def _finishes(part: Part) -> bool:
    """Whether it can ever be finished."""
    match part:
        case Watch() | Limited():
            return True
        case InTurn(members=members):
            return all(map(_finishes, members))
        case Again():
            return False
    assert_never(part)


def _watches(part: Part) -> Iterator[Watch]:
    for watch, _ in _active(part, pl.lit(True)):
        yield watch


def _active(part: Part, within: pl.Expr) -> Iterator[tuple[Watch, pl.Expr]]:
    """Each watch, and whether it is watching, given whether the part is active."""
    match part:
        case Watch():
            yield part, within
        case InTurn(active=active, members=members):
            for number, member in enumerate(members):
                yield from _active(member, within & (pl.col(active) == number))
        case Again(inner=inner):
            yield from _active(inner, within)
        case Limited(main=main, until=until):
            yield from _active(main, within)
            yield until, within
        case _:
            assert_never(part)


def _columns(part: Part) -> dict[str, pl.DataType]:
    match part:
        case Watch(prefix=prefix, fields=fields):
            return fields.columns(prefix)
        case InTurn(active=active, members=members):
            turn: dict[str, pl.DataType] = {active: pl.Int64()}
            return turn | {name: kind for one in members for name, kind in _columns(one).items()}
        case Again(inner=inner):
            return _columns(inner)
        case Limited(main=main, until=until):
            return _columns(main) | _columns(until)
    assert_never(part)


def _reset(part: Part) -> dict[str, pl.Expr]:
    match part:
        case Watch(prefix=prefix, fields=fields):
            return fields.nothing(prefix)
        case InTurn(active=active, members=members):
            first = {active: pl.lit(0, pl.Int64())}
            return first | {name: expr for one in members for name, expr in _reset(one).items()}
        case Again(inner=inner):
            return _reset(inner)
        case Limited(main=main, until=until):
            return _reset(main) | _reset(until)
    assert_never(part)


def _ready(part: Part) -> pl.Expr:
    match part:
        case Watch():
            return pl.col(part.holds)
        case InTurn(active=active, members=members):
            turns = [
                (pl.col(active) == number) & _ready(member)
                for number, member in enumerate(members)
                if all(map(_finishes, members[:number]))
            ]
            return pl.any_horizontal(turns)
        case Again(inner=inner):
            return _ready(inner)
        case Limited(main=main, until=until):
            return pl.col(until.holds) | _ready(main)
    assert_never(part)


def _fired(part: Part) -> tuple[pl.Expr, dict[str, pl.Expr]]:
    """Whether a part that is ready has finished with its firing, and the columns that it changes."""
    match part:
        case Watch():
            return pl.lit(True), {}
        case InTurn(active=active, members=members):
            return _passed_on(active, members)
        case Again(inner=inner):
            finished, after = _fired(inner)
            unchanged = {name: after.get(name, pl.col(name)) for name in _reset(inner)}
            fresh = _reset(inner)
            return pl.lit(False), {
                name: pl.when(finished).then(fresh[name]).otherwise(expr).alias(name)
                for name, expr in unchanged.items()
            }
        case Limited(main=main, until=until):
            finished, after = _fired(main)
            return pl.col(until.holds) | finished, after
    assert_never(part)


def _passed_on(active: str, members: tuple[Part, ...]) -> tuple[pl.Expr, dict[str, pl.Expr]]:
    """The active member fires; when it has finished, the next one starts afresh."""
    now = pl.col(active)
    changes: dict[str, pl.Expr] = {}
    ended: list[pl.Expr] = []
    passed = pl.lit(False)
    for number, member in enumerate(members):
        finished, after = _fired(member)
        fresh = _reset(member) if number else {}
        for name in {**after, **fresh}:
            unchanged = pl.when(now == number).then(after[name]) if name in after else None
            begins = pl.when(passed).then(fresh[name]) if name in fresh else None
            if unchanged is not None and begins is not None:
                changes[name] = begins.when(now == number).then(after[name]).otherwise(pl.col(name))
            elif begins is not None:
                changes[name] = begins.otherwise(pl.col(name))
            elif unchanged is not None:
                changes[name] = unchanged.otherwise(pl.col(name))
        passed = (now == number) & finished
        ended.append(passed)
    moves = pl.any_horizontal(ended[:-1]) if len(ended) > 1 else pl.lit(False)
    changes[active] = pl.when(moves).then(now + 1).otherwise(now)
    return ended[-1], changes


def _holds(trigger: OnceTrigger, watch: Watch, end: str, clocks: Clocks) -> pl.Expr:
    """The predicate of a once-trigger."""
    match trigger:
        case AtWatermark(percentile=percentile):
            return pl.col(end) <= clocks.percentile(percentile)
        case AtCount(count=count):
            return pl.col(watch.prefix + COUNT) >= min(count, _FAR)
        case AtMeasure(amount=amount):
            return pl.col(watch.prefix + _name_of(trigger, watch)) >= amount
        case AtElement():
            return pl.col(watch.prefix + _name_of(trigger, watch))
        case AtPeriod() | AfterDelay():
            deadline = _deadline(trigger, pl.col(watch.prefix + SINCE))
            return (deadline <= clocks.processing_time).fill_null(False)
        case AtSignal(name=name):
            column = next(column for column, known in watch.fields.signals if known == name)
            return pl.col(watch.prefix + column)
        case Never():
            return pl.lit(False)
        case Always():
            return pl.lit(True)
        case And(triggers=parts):
            return pl.all_horizontal([_holds(one, watch, end, clocks) for one in parts])
        case Or(triggers=parts):
            return pl.any_horizontal([_holds(one, watch, end, clocks) for one in parts])
    assert_never(trigger)


def _holds_at(trigger: OnceTrigger, watch: Watch, end: str, clocks: Clocks) -> pl.Expr:
    """From when on the predicate of a once-trigger holds, as far as processing time decides it; else null."""
    match trigger:
        case AtPeriod() | AfterDelay():
            return _deadline(trigger, pl.col(watch.prefix + SINCE))
        case And(triggers=parts):
            points = [_holds_at(one, watch, end, clocks) for one in parts]
            return pl.when(pl.all_horizontal([one.is_not_null() for one in points])).then(
                pl.max_horizontal(points)
            )
        case Or(triggers=parts):
            return pl.min_horizontal([_holds_at(one, watch, end, clocks) for one in parts])
        case _:
            return pl.when(_holds(trigger, watch, end, clocks)).then(
                pl.lit(clocks.processing_time, pl.Int64())
            )


def _name_of(leaf: AtMeasure | AtElement, watch: Watch) -> str:
    return next(name for name, known in watch.fields.data if known == leaf)


def _deadline(leaf: AtPeriod | AfterDelay, since: pl.Expr) -> pl.Expr:
    """When the leaf becomes ready, of which something came first at ``since``; null if nothing has."""
    match leaf:
        case AfterDelay():
            return since + min(leaf.delay_micros, _FAR)
        case AtPeriod():
            period: Micros = duration_of("AtPeriod.period", leaf.period, allow_zero=False)
            offset: Micros = duration_of("AtPeriod.offset", leaf.offset, allow_zero=True)
            if period < _FAR:
                return since + (offset - since).mod(period)
            wide = since.cast(pl.Int128())
            waits = (pl.lit(offset, pl.Int128()) - wide).mod(pl.lit(period, pl.Int128()))
            return (wide + pl.min_horizontal(waits, pl.lit(_FAR, pl.Int128()))).cast(pl.Int64())
    assert_never(leaf)


__all__ = ["CLOSED", "FIRES", "Automaton", "Watch"]
