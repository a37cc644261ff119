"""A grouping that is compiled for the step: its key columns, combiners and windowing strategy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Protocol

import polars as pl
from attrs import evolve, field, frozen

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import AnyCombiner, Count, Max, Mean, Min, Over, Sum, component_combiners
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import FLOAT, Shape, TupleOf
from flowalg.data.time import EventTime
from flowalg.pipeline.co_group import Join
from flowalg.windows.strategy import TimestampCombiner, WindowingStrategy
from flowalg.windows.window_functions import MergingWindowFn, as_merging
from flowalg_shard.tables.columns import END, START
from flowalg_shard.triggers.automaton import Automaton

BuiltIn = (
    Sum[int]
    | Count
    | Mean
    | Min[object]
    | Max[object]
    | AnyOf
    | AllOf
    | Quantile
    | Quantiles
    | TopN[object]
    | ToList[object]
    | ToSet[object]
)

RESULT: Final = "__result"
"""The column of pickled results, or of the pairs of a join."""

TOP_VALUE: Final = "_1"
TOP_RANK: Final = "_2"
"""The fields of the pairs that ``TopN`` reads."""


@frozen
class AggregateColumn:
    """A built-in combiner over one column.

    ``argument`` is the column that it reads (``None`` for ``Count``), ``shape`` the type of its values, and ``result``
    the column of its results in panes. ``TopN`` reads pairs of a value and its rank, by which it orders values. In a
    co-group it reads the values of one ``side``, the number of an input; ``timed`` lists have each value in a pair with
    its event time.
    """

    combiner: BuiltIn
    argument: str | None
    shape: Shape | None
    result: str
    # Not described in checkpoints, since the argument and the type of the results say it.
    side: int | None = field(default=None, repr=False)
    timed: bool = field(default=False, repr=False)

    @property
    def floating(self) -> bool:
        """Whether the combiner adds or compares floats."""
        if isinstance(self.combiner, TopN) and isinstance(self.shape, TupleOf):
            return self.shape.items[1] == FLOAT
        return self.shape == FLOAT

    @property
    def accumulators(self) -> tuple[str, ...]:
        """The columns of its accumulator, in bundles and in state."""
        scaled = () if self.scaled is None else (self.scaled,)
        if isinstance(self.combiner, Mean):
            return (f"{self.result}#sum", *scaled, f"{self.result}#n")
        return (self.result, *scaled)

    @property
    def scaled(self) -> str | None:
        """The column of a scaled sum of floats (``tables/floats.py``); ``None`` if the combiner adds no floats."""
        adds_floats = self.floating and isinstance(self.combiner, Sum | Mean)
        return f"{self.result}#scaled" if adds_floats else None


class KeyCodec(Protocol):
    """Converts a key of a stage to columns and back."""

    def encode(self, key: object) -> Sequence[pl.Series] | None:
        """Encodes a key as columns of one row; returns ``None`` for a value that is not a key of the stage."""

    def decode(self, row: pl.DataFrame) -> object:
        """Decodes the key in the key columns of one row."""


@frozen
class AnyKey:
    """The keys of a stage without a type: no signal to a key reaches it."""

    def encode(self, key: object) -> None:
        """Encodes no key."""

    def decode(self, row: pl.DataFrame) -> object:
        """Returns the columns of a key."""
        return row.row(0)


@frozen
class Stage:
    """A compiled grouping: pure data, the same for every shard and micro-batch.

    Values are combined by ``aggregates`` over columns, or by one ``combiner`` over pickled values. A ``join`` in
    columns has an aggregate for each side, whose lists it pairs. With ``keeps_values`` the values are kept in columns,
    since retractions cannot be subtracted from the aggregates. If ``fresh``, this grouping assigns windows; otherwise
    elements bring those of the previous grouping. With ``retractions``, elements may be retractions. With
    ``preassigned``, a user-defined function has assigned windows before rows arrive here. ``key_codec`` encodes the key
    of a signal, and decodes that of an error.
    """

    label: str
    keys: tuple[str, ...]
    aggregates: tuple[AggregateColumn, ...]
    strategy: WindowingStrategy
    fresh: bool = True
    retractions: bool = False
    preassigned: bool = False
    combiner: AnyCombiner | None = None
    join: Join | None = None
    keeps_values: bool = False
    key_codec: KeyCodec = AnyKey()

    @cached_property
    def automaton(self) -> Automaton:
        """The compiled trigger."""
        return Automaton.of(self.strategy.trigger)

    @property
    def window_key(self) -> tuple[str, ...]:
        """The columns that identify a window of a key."""
        return (*self.keys, START, END)

    @property
    def merging(self) -> MergingWindowFn | None:
        """The window function that merges windows, if this grouping merges any."""
        return as_merging(self.strategy.windows) if self.fresh else None

    @property
    def unmerges(self) -> bool:
        """Whether merged windows come apart again, since elements may be retractions."""
        return self.retractions and self.merging is not None

    @property
    def keeps_times(self) -> bool:
        """Whether panes carry event times of their elements, which contents then keep."""
        return self.strategy.timestamp_combiner is not TimestampCombiner.END_OF_WINDOW

    @property
    def results(self) -> tuple[str, ...]:
        """The columns of the results in panes."""
        in_columns = self.combiner is None and self.join is None
        return tuple(column.result for column in self.aggregates) if in_columns else (RESULT,)

    @property
    def of_drops(self) -> Stage:
        """The stage that combines dropped elements: those of a join are no pairs, but the values of each side."""
        return evolve(self, join=None)

    def expired_up_to(self, watermark: EventTime) -> int | None:
        """Returns the greatest end of a window that has expired at a watermark; ``None`` if windows never expire."""
        lateness = self.strategy.lateness_micros
        return None if lateness is None else max(watermark - lateness, -(2**63))


def aggregate_columns(
    combiner: AnyCombiner, arguments: tuple[Shape | None, ...]
) -> tuple[AggregateColumn, ...]:
    """Returns the aggregates of a combiner, from the shapes of its arguments (``None`` without an argument).

    Raises ``UnsupportedError`` for a combiner that is not built in.
    """
    columns = []
    for index, (part, shape) in enumerate(zip(component_combiners(combiner), arguments, strict=True)):
        inner: object = part.combiner if isinstance(part, Over) else part
        if not isinstance(
            inner,
            Sum | Count | Mean | Min | Max | AnyOf | AllOf | Quantile | Quantiles | TopN | ToList | ToSet,
        ):
            raise UnsupportedError(
                f"the combiner {type(inner).__name__} is not built in, so only the reference interpreter runs it"
            )
        argument = None if isinstance(inner, Count) else f"a{index}"
        columns.append(AggregateColumn(inner, argument, shape, f"r{index}"))
    return tuple(columns)


def side_argument(number: int) -> str:
    """Returns the column of the values of an input of a co-group, which are null on the rows of its other inputs."""
    return f"a{number}"


def side_columns(values: Sequence[Shape], *, timed: bool) -> tuple[AggregateColumn, ...]:
    """Returns the aggregates of a co-group of collections with values of some shapes: a list of each."""
    return tuple(
        AggregateColumn(ToList(), side_argument(number), shape, f"r{number}", number, timed)
        for number, shape in enumerate(values)
    )
