"""What elements read of a side input: columns beside theirs, found by a join for each key, or values in Python.

A stage keeps the side as values in Python. Those that elements read become columns once, not with each element.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, TypeAlias

import polars as pl
from attrs import define, field, frozen
from flowalg_columns.layout import Branch, flatten_columns, layout_of
from flowalg_columns.values import write_nested
from flowalg_shard.step.side_inputs import READ_START

from flowalg.data.shapes import MapOf, Shape, TupleOf
from flowalg.data.time import EventTime
from flowalg.elementwise.steps import Step
from flowalg.lifting.lookups import Lookups
from flowalg_polars.columns import columns_of, polars_type, unnest
from flowalg_polars.lowering.lookups import KEY, VALUE, look_up
from flowalg_polars.lowering.python_steps import apply_to_pairs, series_of
from flowalg_polars.streaming.rows import Elements

Readings: TypeAlias = Mapping[EventTime, object]
"""What elements read, by the start of the window of the side that they read."""

_VERSION: Final = "__version"


class SideRead(Protocol):
    """Elements with what they read, which are of the shape ``after``."""

    @property
    def after(self) -> Shape:
        """The shape of what is returned."""
        ...

    def __call__(self, table: pl.DataFrame, readings: Readings) -> pl.DataFrame:
        """Returns the elements of a table that has ``READ_START``, with their metadata."""
        ...


@frozen
class PairedInPython:
    """Elements after steps that Python applies to pairs of an element and the value that it reads."""

    main: Elements
    steps: tuple[Step, ...]
    after: Shape
    label: str

    def __call__(self, table: pl.DataFrame, readings: Readings) -> pl.DataFrame:
        """Returns the elements after the steps."""
        main = self.main
        read = (readings[EventTime(start)] for start in table[READ_START].to_list())
        return apply_to_pairs(table, read, self.steps, (main.shape, self.after), main.meta, self.label)


@frozen
class Paired:
    """Pairs of an element and the value that it reads, as columns."""

    main: Elements
    after: TupleOf
    label: str

    def __call__(self, table: pl.DataFrame, readings: Readings) -> pl.DataFrame:
        """Returns the pairs."""
        read = self.after.items[1]
        numbered, values = _versions(table, readings)
        column = series_of(write_nested(read, values, f"the value of {self.label}"), polars_type(read))
        paired = numbered.with_columns(column.gather(numbered[_VERSION]).alias(VALUE))
        parts = (columns_of(layout_of(self.main.shape)), unnest(pl.col(VALUE), read))
        return paired.select(*flatten_columns(Branch(self.after, parts), self.after), *self.main.meta)


@define
class LookedUp:
    """Elements with what a join finds of each key that they look up; a mapping becomes a table once."""

    main: Elements
    lookups: Lookups
    mapping: MapOf
    label: str
    _tables: dict[int, tuple[object, pl.DataFrame]] = field(factory=dict)

    @property
    def after(self) -> TupleOf:
        """The element, and what is found of each key."""
        return self.lookups.shape

    def __call__(self, table: pl.DataFrame, readings: Readings) -> pl.DataFrame:
        """Returns the elements with what is found."""
        rows, values = _versions(table, readings)
        before = self._tables
        self._tables = {id(value): before.get(id(value)) or (value, self._table(value)) for value in values}
        tables = [self._tables[id(value)][1] for value in values]
        entries = pl.concat(
            part.with_columns(pl.lit(number, pl.UInt32()).alias(_VERSION))
            for number, part in enumerate(tables)
        )
        element = columns_of(layout_of(self.main.shape))
        meta = self.main.meta
        looked_up = look_up(rows.lazy(), entries.lazy(), self.lookups, element, _VERSION, meta, in_order=True)
        return looked_up.collect(engine="in-memory")

    def _table(self, mapping: object) -> pl.DataFrame:
        """Returns the entries of a mapping."""
        assert isinstance(mapping, dict), "elements look keys up in a mapping"
        parts = ((KEY, self.mapping.key, mapping.keys()), (VALUE, self.mapping.value, mapping.values()))
        columns = [
            series_of(write_nested(shape, list(items), f"a value of {self.label}"), polars_type(shape)).alias(
                name
            )
            for name, shape, items in parts
        ]
        return pl.DataFrame(columns)


def _versions(table: pl.DataFrame, readings: Readings) -> tuple[pl.DataFrame, list[object]]:
    """Returns the elements with the number of the value that each reads, and the values."""
    values = {id(value): value for value in readings.values()}
    numbers = {identity: number for number, identity in enumerate(values)}
    versions = pl.DataFrame(
        {READ_START: [*readings], _VERSION: [numbers[id(value)] for value in readings.values()]},
        schema={READ_START: pl.Int64(), _VERSION: pl.UInt32()},
    )
    return table.join(versions, on=READ_START, how="left", maintain_order="left"), [*values.values()]
