"""The trigger automaton over tables: the triggers of all windows of a shard observe and fire at once (SEMANTICS 6).

A trigger is compiled once. The state of each window's trigger is a few columns: for each once-trigger the summary of
the elements since it was set (``summary.py``) and the results of predicates of accumulators, for each sequence its
active member, and for the whole trigger whether it has finished. Inactive members of a sequence observe too, except
that they call no user-defined functions; this has no effect, since a member is reset when it becomes active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, assert_never

import polars as pl
from attrs import frozen

from flowalg.runs.clocks import Clocks
from flowalg.triggers.syntax import (
    And,
    AtElement,
    AtMeasure,
    AtSignal,
    AtValue,
    AtWatermark,
    CustomTrigger,
    DataDrivenTrigger,
    LeafTrigger,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
    leaves,
)
from flowalg_shard.tables.queries import compute
from flowalg_shard.triggers.accumulators import Observed, due_where, evaluate_where, ready_where
from flowalg_shard.triggers.leaves import FIRST, LAST, satisfied, satisfied_from
from flowalg_shard.triggers.summary import SummaryColumns

CLOSED: Final = "__closed"
FIRES: Final = "__fires"

TRIGGER_PREFIX: Final = "__t"
"""What the names of the columns of a trigger begin with."""


@frozen
class CompiledOnce:
    """A once-trigger that fires and is reset as a whole. ``prefix`` names the columns of its summary."""

    prefix: str
    trigger: OnceTrigger
    summary: SummaryColumns

    def holds(self, name: str) -> str:
        """Returns the column for whether a predicate of an accumulator holds; that of ``AtValue`` latches."""
        return f"{self.prefix}{name}.holds"

    def due(self, name: str) -> str:
        """Returns the column of the processing time before which a user-defined trigger is not ready."""
        return f"{self.prefix}{name}.due"

    def name_of(self, leaf: DataDrivenTrigger) -> str:
        """Returns the name of a leaf that keeps something of values."""
        return next(name for name, candidate in self.summary.data if candidate == leaf)

    def kept(self, leaf: LeafTrigger) -> str:
        """Returns the column of what a leaf alone keeps; empty if it keeps nothing."""
        match leaf:
            case AtValue() | CustomTrigger():
                return self.holds(self.name_of(leaf))
            case AtMeasure() | AtElement():
                return self.prefix + self.name_of(leaf)
            case AtSignal(name=signal):
                return self.prefix + next(column for column, name in self.summary.signals if name == signal)
            case _:
                return ""

    @property
    def timed(self) -> tuple[tuple[str, CustomTrigger], ...]:
        """The user-defined triggers that depend on the clocks, each with its column name."""
        return tuple(
            (name, leaf)
            for name, leaf in self.summary.accumulating
            if isinstance(leaf, CustomTrigger) and leaf.due is not None
        )

    @property
    def untimed(self) -> tuple[tuple[str, AtValue | CustomTrigger], ...]:
        """The other triggers that accumulate values."""
        return tuple(pair for pair in self.summary.accumulating if pair not in self.timed)

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of its state."""
        held = {self.holds(name): pl.Boolean() for name, _ in self.untimed}
        due = {self.due(name): pl.Int64() for name, _ in self.timed}
        return {**self.summary.columns(self.prefix), **held, **due}

    def initial_state(self) -> dict[str, pl.Expr]:
        """Returns its state before the first element."""
        held = {self.holds(name): pl.lit(False) for name, _ in self.untimed}
        due = {self.due(name): pl.lit(None, pl.Int64()) for name, _ in self.timed}
        return {**self.summary.empty(self.prefix), **held, **due}


@frozen
class CompiledSequence:
    """A ``SequenceOf``; ``active`` is the column with the index of the active member."""

    active: str
    members: tuple[CompiledTrigger, ...]


@frozen
class CompiledRepeat:
    """A ``Repeat``."""

    inner: CompiledTrigger


@frozen
class CompiledOrFinally:
    """An ``OrFinally``."""

    main: CompiledTrigger
    until: CompiledOnce


CompiledTrigger: TypeAlias = CompiledOnce | CompiledSequence | CompiledRepeat | CompiledOrFinally
"""A compiled trigger."""

Satisfied: TypeAlias = Callable[[CompiledOnce], pl.Expr]
"""A function that returns the predicate of a once-trigger at some clocks."""


@frozen
class Automaton:
    """A compiled trigger. Its methods return columns of a table with a row for each window.

    Law: row by row it equals the trigger automaton of the reference interpreter.
    """

    trigger: Trigger
    summary: SummaryColumns
    root: CompiledTrigger
    once_triggers: tuple[CompiledOnce, ...]
    finishes: bool

    @classmethod
    def of(cls, trigger: Trigger) -> Automaton:
        """Compiles a trigger. Raises ``UnsupportedError`` for an ``AtMeasure`` that needs more than 64 bits."""
        summary = SummaryColumns.of(trigger)
        root = _compile(trigger, summary, TRIGGER_PREFIX)
        return cls(trigger, summary, root, tuple(_once_triggers(root)), _finishes(root))

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of the state, with their types."""
        closed: dict[str, pl.DataType] = {CLOSED: pl.Boolean()} if self.finishes else {}
        return {**_columns(self.root), **closed}

    @property
    def percentiles(self) -> frozenset[float]:
        """The percentile watermarks that the trigger depends on."""
        percentiles = (leaf.percentile for leaf in leaves(self.trigger) if isinstance(leaf, AtWatermark))
        return frozenset(percentile for percentile in percentiles if percentile is not None)

    def initial_state(self) -> dict[str, pl.Expr]:
        """Returns the state of a trigger that has not observed anything."""
        closed = {CLOSED: pl.lit(False)} if self.finishes else {}
        return {**_initial(self.root), **closed}

    def observe(self, prefix: str) -> dict[str, pl.Expr]:
        """Returns the state after the elements of the summary at ``prefix`` are observed; null means no elements."""
        return {
            name: expr
            for once in self.once_triggers
            for name, expr in once.summary.merge(once.prefix, prefix).items()
        }

    def observe_signals(self, reached: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
        """Returns the state after signals are observed; ``reached`` says which windows receive one, by its name."""
        return {
            name: expr
            for once in self.once_triggers
            for name, expr in once.summary.with_signals(once.prefix, reached).items()
        }

    @property
    def accumulates(self) -> bool:
        """Whether any part of the trigger accumulates values."""
        return bool(self.summary.accumulating)

    def accumulate(self, table: pl.DataFrame, prefix: str, where: pl.Expr | None = None) -> pl.DataFrame:
        """Returns the table after active triggers have absorbed the accumulators at ``prefix``, in all or some rows."""
        for once, active in _with_activity(self.root, pl.lit(True)):
            rows = active if where is None else active & where
            table = once.summary.merge_accumulators(table, once.prefix, prefix, rows)
        return table

    def evaluate_accumulators(self, table: pl.DataFrame, changed: Callable[[str], pl.Expr]) -> pl.DataFrame:
        """Returns the table after predicates of accumulators have been evaluated, once for all elements of an instant.

        ``changed`` says in which rows the accumulator of a name has changed.
        """
        for once, active in _with_activity(self.root, pl.lit(True)):
            for name, leaf in once.untimed:
                held = pl.col(once.holds(name))
                latches = isinstance(leaf, AtValue)
                rows = active & changed(name) & ~held if latches else active & changed(name)
                holds = evaluate_where(leaf, table, once.prefix + name, _select(table, rows))
                table = table.with_columns(pl.coalesce(holds, held).alias(once.holds(name)))
            for name, leaf in once.timed:
                renewed = _select(table, active & changed(name))
                due_times = due_where(leaf, table, _observations(once, name), renewed)
                due = pl.when(renewed).then(due_times).otherwise(pl.col(once.due(name)))
                table = table.with_columns(due.alias(once.due(name)))
        return table

    def is_restless(self, clocks: Clocks) -> pl.Expr | None:
        """Returns whether a trigger must be evaluated in every instant; ``None`` if it never must."""
        due = [
            (active & (pl.col(once.due(name)) <= clocks.processing_time)).fill_null(False)
            for once, active in _with_activity(self.root, pl.lit(True))
            for name, _ in once.timed
        ]
        if not due:
            return None
        restless = pl.any_horizontal(due)
        return restless & ~pl.col(CLOSED) if self.finishes else restless

    def _with_ready(self, table: pl.DataFrame, end: str, clocks: Clocks) -> pl.DataFrame:
        """Returns the table with a column for each user-defined trigger that depends on the clocks."""
        for once, active in _with_activity(self.root, pl.lit(True)):
            for name, leaf in once.timed:
                due = active & (pl.col(once.due(name)) <= clocks.processing_time)
                rows = _select(table, due & ~pl.col(CLOSED) if self.finishes else due)
                ready = ready_where(leaf, table, _observations(once, name), end, rows, clocks)
                table = table.with_columns(ready.alias(once.holds(name)))
        return table

    def evaluate(self, table: pl.LazyFrame, end: str, clocks: Clocks) -> pl.LazyFrame:
        """Returns the table with ``FIRES``, and with the state after ready triggers have fired.

        ``end`` is the column of the ends of windows.
        """
        ready = [once.holds(name) for once in self.once_triggers for name, _ in once.timed]
        if ready:
            table = self._with_ready(compute(table), end, clocks).lazy()

        def is_satisfied(once: CompiledOnce) -> pl.Expr:
            return _satisfied(once.trigger, once, end, clocks)

        fires = _ready(self.root, is_satisfied)
        if self.finishes:
            fires &= ~pl.col(CLOSED)
        evaluated = table.with_columns(fires.alias(FIRES))
        finished, after = _fire(self.root, is_satisfied)
        moved = {
            name: pl.when(FIRES).then(expr).otherwise(pl.col(name)).alias(name)
            for name, expr in after.items()
        }
        if self.finishes:
            moved[CLOSED] = pl.col(CLOSED) | (pl.col(FIRES) & finished)
        evaluated = evaluated.with_columns(**moved) if moved else evaluated
        return evaluated.drop(ready) if ready else evaluated

    def next_deadline(self, table: pl.DataFrame, end: str, clocks: Clocks) -> pl.Series | None:
        """Returns the next time at which the trigger is ready without new elements; ``None`` without such triggers.

        ``end`` is the column of the ends of windows, and ``clocks`` are those of the last instant.
        """
        points = [
            pl.when(active & (point > clocks.processing_time)).then(point)
            for once, active in _with_activity(self.root, pl.lit(True))
            if once.summary.arrivals or once.timed
            for point in (_satisfied_from(once.trigger, once, end, clocks),)
        ]
        if not points:
            return None
        soonest = pl.min_horizontal(points)
        deadline = pl.when(~pl.col(CLOSED)).then(soonest) if self.finishes else soonest
        return self._with_ready(table, end, clocks).select(deadline=deadline)["deadline"]


def _compile(trigger: Trigger, summary: SummaryColumns, name: str) -> CompiledTrigger:
    match trigger:
        case SequenceOf(triggers=members):
            parts = (_compile(member, summary, f"{name}.{number}") for number, member in enumerate(members))
            return CompiledSequence(f"{name}.active", tuple(parts))
        case Repeat(trigger=inner):
            return CompiledRepeat(_compile(inner, summary, f"{name}.again"))
        case OrFinally(main=main, until_=until):
            limit = CompiledOnce(f"{name}.until.", until, summary.restricted_to(until))
            return CompiledOrFinally(_compile(main, summary, f"{name}.main"), limit)
        case _:
            return CompiledOnce(f"{name}.", trigger, summary.restricted_to(trigger))


def _finishes(part: CompiledTrigger) -> bool:
    """Returns whether the trigger can ever finish."""
    match part:
        case CompiledOnce() | CompiledOrFinally():
            return True
        case CompiledSequence(members=members):
            return all(map(_finishes, members))
        case CompiledRepeat():
            return False
    assert_never(part)


def _once_triggers(part: CompiledTrigger) -> Iterator[CompiledOnce]:
    for once, _ in _with_activity(part, pl.lit(True)):
        yield once


def _with_activity(part: CompiledTrigger, within: pl.Expr) -> Iterator[tuple[CompiledOnce, pl.Expr]]:
    """Returns each once-trigger with whether it is active, if the whole trigger is active ``within``."""
    match part:
        case CompiledOnce():
            yield part, within
        case CompiledSequence(active=active, members=members):
            for number, member in enumerate(members):
                yield from _with_activity(member, within & (pl.col(active) == number))
        case CompiledRepeat(inner=inner):
            yield from _with_activity(inner, within)
        case CompiledOrFinally(main=main, until=until):
            yield from _with_activity(main, within)
            yield until, within
        case _:
            assert_never(part)


def _columns(part: CompiledTrigger) -> dict[str, pl.DataType]:
    match part:
        case CompiledOnce():
            return part.columns
        case CompiledSequence(active=active, members=members):
            position: dict[str, pl.DataType] = {active: pl.Int64()}
            return position | {name: type_ for member in members for name, type_ in _columns(member).items()}
        case CompiledRepeat(inner=inner):
            return _columns(inner)
        case CompiledOrFinally(main=main, until=until):
            return _columns(main) | _columns(until)
    assert_never(part)


def _initial(part: CompiledTrigger) -> dict[str, pl.Expr]:
    match part:
        case CompiledOnce():
            return part.initial_state()
        case CompiledSequence(active=active, members=members):
            first = {active: pl.lit(0, pl.Int64())}
            return first | {name: expr for member in members for name, expr in _initial(member).items()}
        case CompiledRepeat(inner=inner):
            return _initial(inner)
        case CompiledOrFinally(main=main, until=until):
            return _initial(main) | _initial(until)
    assert_never(part)


def _ready(part: CompiledTrigger, is_satisfied: Satisfied) -> pl.Expr:
    match part:
        case CompiledOnce():
            return is_satisfied(part)
        case CompiledSequence(active=active, members=members):
            turns = [
                (pl.col(active) == number) & _ready(member, is_satisfied)
                for number, member in enumerate(members)
                if all(map(_finishes, members[:number]))
            ]
            return pl.any_horizontal(turns)
        case CompiledRepeat(inner=inner):
            return _ready(inner, is_satisfied)
        case CompiledOrFinally(main=main, until=until):
            return is_satisfied(until) | _ready(main, is_satisfied)
    assert_never(part)


def _fire(part: CompiledTrigger, is_satisfied: Satisfied) -> tuple[pl.Expr, dict[str, pl.Expr]]:
    """Returns whether a ready trigger finishes by firing, and the columns that firing changes."""
    match part:
        case CompiledOnce():
            return pl.lit(True), {}
        case CompiledSequence(active=active, members=members):
            return _fire_active(active, members, is_satisfied)
        case CompiledRepeat(inner=inner):
            finished, after = _fire(inner, is_satisfied)
            unchanged = {name: after.get(name, pl.col(name)) for name in _initial(inner)}
            fresh = _initial(inner)
            return pl.lit(False), {
                name: pl.when(finished).then(fresh[name]).otherwise(expr).alias(name)
                for name, expr in unchanged.items()
            }
        case CompiledOrFinally(main=main, until=until):
            finished, after = _fire(main, is_satisfied)
            return is_satisfied(until) | finished, after
    assert_never(part)


def _fire_active(
    active: str, members: tuple[CompiledTrigger, ...], is_satisfied: Satisfied
) -> tuple[pl.Expr, dict[str, pl.Expr]]:
    """Fires the active member. If it finishes, the next member is reset and becomes active."""
    now = pl.col(active)
    changes: dict[str, pl.Expr] = {}
    ended: list[pl.Expr] = []
    passed = pl.lit(False)
    for number, member in enumerate(members):
        finished, after = _fire(member, is_satisfied)
        fresh = _initial(member) if number else {}
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


def _satisfied(trigger: OnceTrigger, once: CompiledOnce, end: str, clocks: Clocks) -> pl.Expr:
    """Returns the predicate of a once-trigger."""
    match trigger:
        case And(triggers=parts):
            return pl.all_horizontal([_satisfied(part, once, end, clocks) for part in parts])
        case Or(triggers=parts):
            return pl.any_horizontal([_satisfied(part, once, end, clocks) for part in parts])
        case _:
            return satisfied(trigger, once.prefix, once.kept(trigger), end, clocks)


def _satisfied_from(trigger: OnceTrigger, once: CompiledOnce, end: str, clocks: Clocks) -> pl.Expr:
    """Returns the processing time from which a once-trigger is satisfied; null if that needs more than the time."""
    match trigger:
        case And(triggers=parts):
            points = [_satisfied_from(part, once, end, clocks) for part in parts]
            return pl.when(pl.all_horizontal([point.is_not_null() for point in points])).then(
                pl.max_horizontal(points)
            )
        case Or(triggers=parts):
            return pl.min_horizontal([_satisfied_from(part, once, end, clocks) for part in parts])
        case _:
            point = satisfied_from(trigger, once.prefix, once.kept(trigger), end, clocks)
            if not isinstance(trigger, CustomTrigger) or trigger.due is None:
                return point
            due = pl.col(once.due(once.name_of(trigger)))
            return pl.when(due > clocks.processing_time).then(due).otherwise(point)


def _select(table: pl.DataFrame, rows: pl.Expr) -> pl.Series:
    return table.select(rows=rows.fill_null(False))["rows"]


def _observations(once: CompiledOnce, name: str) -> Observed:
    """Returns the columns of the accumulators and arrivals that a trigger depends on."""
    return once.prefix + name, once.prefix + FIRST, once.prefix + LAST
