"""The state of a shard of a stage after the stage has changed: its tables are converted before they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl
from attrs import evolve, frozen
from flowalg_shard import Grouping, OperatorState, Segment, WindowStore
from flowalg_shard.computations.kept_keys import FORM, IN_COLUMNS
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.contents.bags import BAG, BagContents
from flowalg_shard.contents.lists import ITEM
from flowalg_shard.contents.stage import RESULT, AggregateColumn, Stage
from flowalg_shard.operators import Computing, Reader, Side, pack_side, unpack_side
from flowalg_shard.resharding import whole_tables
from flowalg_shard.state.compatibility import (
    ELEMENTS,
    KEYS,
    SIDE,
    STATE,
    VALUES,
    StageChange,
    count_source,
)
from flowalg_shard.state.window_store import hashed_columns
from flowalg_shard.step.shard_state import state_columns
from flowalg_shard.step.side_inputs import SideStage, SideState
from flowalg_shard.tables.columns import CONTENTS, PENDING, SIZE, VALUE, WEIGHT
from flowalg_shard.tables.floats import scale
from flowalg_shard.triggers.automaton import CLOSED, TRIGGER_PREFIX

from flowalg.combiners.collections import ToList, TopN, ToSet
from flowalg.combiners.core import Max, Mean, Min, Sum
from flowalg.data.errors import CheckpointError, describe_raised
from flowalg.evolution.changes import SAME, Each, Evolution, Part, Parts, Present, Widened
from flowalg.evolution.documents import evolve_stored
from flowalg.pipeline.co_group import Join
from flowalg.pipeline.side_inputs import AsMap, LatestComplete, View
from flowalg_columns.evolution.arrays import (
    columns_of_structure,
    evolve_array,
    evolve_columns,
    replace_columns,
    to_series,
)
from flowalg_columns.values import take_indices


def evolve_state(operator: Reader, change: StageChange, state: OperatorState) -> OperatorState:
    """Returns the state of a shard for a stage that has changed; all its windows are evaluated in the next instant.

    Raises ``CheckpointError`` if the stage cannot continue, or a value cannot be converted.
    """
    change.require_possible()
    if not change.changes:
        return state
    if change.converts:
        try:
            state = _converted(operator, _Conversion(change), state)
        except CheckpointError:
            raise
        except Exception as error:  # of a function of evolves, and of a number that is too large
            raise CheckpointError(
                f"stage {change.now.label!r}: the state cannot be converted: {describe_raised(error)}; "
                f"{'; '.join(change.changes)}"
            ) from error
    return evolve(state, windows=evolve(state.windows, evaluate_all=True))


@frozen
class _Conversion:
    """The conversion of a state by a change of its stage."""

    change: StageChange

    def columns(self, table: pl.DataFrame, subject: str, name: str) -> pl.DataFrame:
        """Returns a table after the evolution of the values of a subject, whose columns begin with a name."""
        change = self.change.values.get(subject)
        if change is None:
            return table
        return evolve_columns(
            table, self.change.before.types[subject], self.change.now.holds[subject].shape, change, name
        )

    def objects(self, column: pl.Series, change: Evolution = SAME) -> pl.Series:
        """Returns a column of stored objects after their evolution."""
        if not self.change.objects and change == SAME:
            return column
        evolved = [
            None if stored is None else evolve_stored(stored, change, self.change.objects)
            for stored in column.to_list()
        ]
        return pl.Series(column.name, evolved, pl.Binary())


def _evolved(column: pl.Series, name: str, change: Evolution | None) -> pl.Series:
    """Returns a column under a name, after an evolution of its values, if there is one."""
    column = column.alias(name)
    return column if change is None else to_series(name, evolve_array(column.to_arrow(), change))


def _converted(operator: Reader, conversion: _Conversion, state: OperatorState) -> OperatorState:
    match operator:
        case Grouping(stage=stage):
            convert = partial(_windows, stage, conversion), partial(_panes, stage, conversion)
            return _with_tables(state, hashed_columns(stage), *convert)
        case Computing(stage=computation):
            convert = partial(_keys, computation, conversion), partial(_waiting, conversion)
            return _with_tables(state, computation.keys, *convert)
        case Side(stage=side):
            return _side(side, conversion, state)
        case _:
            return state


_Convert = Callable[[pl.DataFrame], pl.DataFrame]


def _with_tables(
    state: OperatorState, hashed: tuple[str, ...], windows: _Convert, panes: _Convert
) -> OperatorState:
    """Returns the state with its tables converted, in one segment."""
    rows, current = whole_tables(state)
    if rows.is_empty() and current.is_empty():
        return evolve(state, windows=WindowStore())
    rows = rows if rows.is_empty() else windows(rows)
    current = current if current.is_empty() else panes(current)
    return evolve(state, windows=WindowStore().append(Segment(hashed, rows, current, pl.DataFrame())))


def _windows(stage: Stage, conversion: _Conversion, table: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows of a grouping."""
    table = conversion.columns(table, KEYS, "key")
    if stage.combiner is not None:
        table = table.with_columns(conversion.objects(table[CONTENTS]))
    elif stage.keeps_values:
        table = _bags(stage, conversion, table)
    else:
        table = _accumulators(stage, conversion, table)
    if conversion.change.resets:
        table = _with_new_triggers(stage, conversion, table)
    else:
        observed = [table[name] for name, kind in stage.automaton.columns.items() if kind == pl.Binary()]
        table = table.with_columns(map(conversion.objects, observed))
    own = state_columns(stage)
    return table.select(*own, *(name for name in table.columns if name not in own))


def _accumulators(stage: Stage, conversion: _Conversion, table: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows with the columns of their aggregates."""
    kept = conversion.change.kept
    new: list[pl.Series] = []
    for number, (column, old) in enumerate(zip(stage.aggregates, kept, strict=True)):
        if old is None:
            new.append(_count(conversion, stage, table).alias(column.result))
        else:
            change = conversion.change.values.get(str(number))
            new += _accumulator(column, f"r{old}", change, table)
    names = [
        name
        for name in table.columns
        if name.partition("#")[0] in _results(conversion.change.before.combiners)
    ]
    return table.drop(names).with_columns(new)


def _results(combiners: Sequence[str]) -> frozenset[str]:
    return frozenset(f"r{number}" for number in range(len(combiners)))


def _count(conversion: _Conversion, stage: Stage, table: pl.DataFrame) -> pl.Series:
    """Returns the number of elements of each window, as another aggregate knows it."""
    combiners = conversion.change.before.combiners
    source = count_source(combiners, conversion.change.kept)
    if stage.retractions:
        return table[SIZE]
    assert source is not None, "the plan has found it"
    name = f"r{source}"
    if combiners[source].startswith("Count"):
        return table[name]
    if combiners[source].startswith("Mean"):
        return table[f"{name}#n"]
    return table[name].list.len().cast(pl.Int64())


def _accumulator(
    column: AggregateColumn, old: str, change: Evolution | None, table: pl.DataFrame
) -> list[pl.Series]:
    """Returns the columns of an aggregate, which had the name ``old``."""

    def moved(name: str) -> pl.Series:
        return table[old + name.removeprefix(column.result)].alias(name)

    match column.combiner:
        case Sum() | Mean() if isinstance(change, Widened):
            total, *others = column.accumulators
            exact = _as_floats(moved(total))
            scaled = exact.to_frame().select(scale(pl.col(total)).alias(str(column.scaled))).to_series()
            return [exact, scaled, *(moved(name) for name in others if name != column.scaled)]
        case Min() | Max():
            return [_evolved(table[old], column.result, change)]
        case TopN():
            return [_evolved(table[old], column.result, _each(change))]
        case ToList() | ToSet():
            return [_items(table[old], column.result, {ITEM: change})]
        case _:
            return [moved(name) for name in column.accumulators]


def _as_floats(totals: pl.Series) -> pl.Series:
    floats = totals.cast(pl.Float64())
    if (floats.cast(pl.Int128()) != totals.cast(pl.Int128())).any():
        raise ValueError(f"a sum of {totals.name} has more digits than a float")
    return floats


def _each(change: Evolution | None) -> Evolution | None:
    return None if change is None else Each(change)


def _items(
    column: pl.Series,
    name: str,
    changes: Mapping[str, Evolution | None],
    renamed: Mapping[str, str] | None = None,
) -> pl.Series:
    """Returns a column of lists of structs under a name, after evolutions of fields, some of which are ``renamed``.

    ``renamed`` has all fields that items have then, with their names before.
    """
    assert isinstance(column.dtype, pl.List), "it has lists"
    assert isinstance(column.dtype.inner, pl.Struct), "of structs"
    fields = renamed or {field.name: field.name for field in column.dtype.inner.fields}
    parts = tuple(Part(new, old, changes.get(new) or SAME) for new, old in fields.items())
    if all(part.change == SAME and part.name == part.before for part in parts):
        return column.alias(name)
    return to_series(name, evolve_array(column.to_arrow(), Each(Parts(None, parts))))


def _bags(stage: Stage, conversion: _Conversion, table: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows with their bags of values, whose items have what the aggregates read of a value."""
    bag = table[BAG]
    assert isinstance(bag.dtype, pl.List), "a bag is a list"
    assert isinstance(bag.dtype.inner, pl.Struct), "of structs"
    before = [field.name for field in bag.dtype.inner.fields]
    kept = conversion.change.kept
    arguments = {f"a{new}": f"a{old}" for new, old in enumerate(kept) if old is not None}
    fields = {name: name for name in before if not _is_argument(name)}
    fields |= {
        column.argument: arguments[column.argument]
        for column in stage.aggregates
        if column.argument is not None and column.argument in arguments
    }
    changes = {f"a{number}": conversion.change.values.get(str(number)) for number in range(len(kept))}
    changes[VALUE] = conversion.change.values.get(VALUES)
    order = [name for name in (*BagContents(stage).fields, WEIGHT) if name in fields]
    return table.with_columns(_items(bag, BAG, changes, {name: fields[name] for name in order}))


def _is_argument(name: str) -> bool:
    return name.startswith("a") and name[1:].isdecimal()


def _with_new_triggers(stage: Stage, conversion: _Conversion, table: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows with triggers that have observed nothing; those that have finished stay so.

    Raises ``CheckpointError`` if a window has finished and the new trigger never finishes, since the elements that it
    has dropped are gone.
    """
    automaton = stage.automaton
    closed = table[CLOSED] if CLOSED in table.columns else pl.Series(CLOSED, [False] * table.height)
    if closed.any() and not automaton.finishes:
        raise CheckpointError(
            f"stage {conversion.change.now.label!r}: {int(closed.sum())} windows have finished by the trigger before, "
            "and have dropped elements since, and the new trigger never finishes; start with a new checkpoint"
        )
    names = [name for name in table.columns if name.startswith((PENDING, TRIGGER_PREFIX))]
    table = table.drop([*names, CLOSED], strict=False)
    pending = automaton.summary.of_elements.empty(PENDING) if stage.merging is not None else {}
    table = table.with_columns(**pending, **automaton.initial_state())
    return table.with_columns(closed) if automaton.finishes else table


def _panes(stage: Stage, conversion: _Conversion, table: pl.DataFrame) -> pl.DataFrame:
    """Returns the panes that may be retracted."""
    table = conversion.columns(table, KEYS, "key")
    if stage.combiner is not None:
        return table.with_columns(conversion.objects(table[RESULT]))
    values = conversion.change.values
    if stage.join is not None:
        return table.with_columns(_joined(stage.join, conversion, table[RESULT]))
    new = [
        _result(column, table[f"r{old}"], values.get(str(number)))
        for number, (column, old) in enumerate(zip(stage.aggregates, conversion.change.kept, strict=True))
        if old is not None
    ]
    before = [name for name in table.columns if name in _results(conversion.change.before.combiners)]
    return replace_columns(table, before, new)


def _joined(join: Join, conversion: _Conversion, pairs: pl.Series) -> pl.Series:
    """Returns the pairs of a join, or the values that it selects."""
    left, right = (conversion.change.values.get(str(side)) for side in range(2))
    if not join.kind.selects:
        optional = zip((left, right), (join.kind.keeps_right, join.kind.keeps_left), strict=True)
        ours, theirs = (
            Present(change) if change is not None and may_lack else change for change, may_lack in optional
        )
        return _items(pairs, RESULT, {"_1": ours, "_2": theirs})
    if join.times is not None:
        return _items(pairs, RESULT, {"_1": left})
    return _evolved(pairs, RESULT, _each(left))


def _result(column: AggregateColumn, before: pl.Series, change: Evolution | None) -> pl.Series:
    """Returns the results of an aggregate."""
    match column.combiner:
        case Sum() if change is not None:
            return before.cast(pl.Float64()).alias(column.result)
        case Min() | Max():
            return _evolved(before, column.result, change)
        case TopN():
            value = change.parts[0].change if isinstance(change, Parts) else None
            return _evolved(before, column.result, _each(value))
        case ToList() if column.timed:
            return _items(before, column.result, {"_1": change})
        case ToList() | ToSet():
            return _evolved(before, column.result, _each(change))
        case _:
            return before.alias(column.result)


def _keys(stage: ComputationStage, conversion: _Conversion, table: pl.DataFrame) -> pl.DataFrame:
    """Returns the keys of a computation with their states, in columns and as objects."""
    table = conversion.columns(table, KEYS, "key")
    change = conversion.change.values.get(STATE, SAME)
    table = table.with_columns(conversion.objects(table[CONTENTS], change))
    if change == SAME or stage.state is None:
        return table
    before = columns_of_structure(conversion.change.before.types[STATE], "__state")
    in_columns = table[FORM] == IN_COLUMNS
    held = conversion.columns(table.select(before).filter(in_columns), STATE, "__state")
    indices = pl.Series(take_indices(in_columns.to_list()))
    return replace_columns(table, before, [held[name].gather(indices) for name in stage.state.columns])


def _waiting(conversion: _Conversion, table: pl.DataFrame) -> pl.DataFrame:
    """Returns the elements of a computation that wait for the watermark."""
    return conversion.columns(conversion.columns(table, KEYS, "key"), ELEMENTS, "value")


def _of_view(view: View, change: Evolution) -> Evolution:
    """Returns the evolution of what elements read of a window, given that of the elements of the side input."""
    match view:
        case LatestComplete(view=inner):
            return _of_view(inner, change)
        case AsMap() if isinstance(change, Parts):
            return Each(Parts(None, change.parts))
        case _:
            return change


def _side(stage: SideStage, conversion: _Conversion, state: OperatorState) -> OperatorState:
    """Returns the state of a side input."""
    if not state.side_input:
        return state
    side, change = unpack_side(state), conversion.change.values.get(SIDE, SAME)
    of_values = _of_view(stage.view, change)
    contents = side.contents
    if not contents.is_empty():
        contents = contents.with_columns(conversion.objects(contents[VALUE], change))
    values = {
        window: evolve_stored(stored, of_values, conversion.change.objects)
        for window, stored in side.values.items()
    }
    waiting = side.waiting
    if not waiting.is_empty():
        waiting = conversion.columns(waiting, ELEMENTS, "")
    return evolve(state, side_input=pack_side(SideState(contents, values, waiting)))
