"""Support for tests of sinks: a target in memory, and the current panes by a plain loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import TypeVar

from attrs import define, field
from flowalg_sinks import Row, Table, Upsert, WrittenBatch
from flowalg_sinks.cells import to_cells
from flowalg_sinks.pane_columns import pane_cells, window_cells

from flowalg import Pane
from flowalg.runs import Change

A = TypeVar("A")


@define
class Memory:
    """A target in memory, with the six methods of a target only. A transaction takes effect when it ends."""

    tables: dict[str, dict[Row, Row]] = field(factory=dict)
    written: dict[str, WrittenBatch] = field(factory=dict)

    @contextmanager
    def transaction(self) -> Iterator[Memory]:
        """Returns a copy, which replaces the target unless the transaction fails."""
        copy = Memory(deepcopy(self.tables), dict(self.written))
        yield copy
        self.tables, self.written = copy.tables, copy.written

    def last_batch(self, table: str) -> WrittenBatch | None:
        """Returns the last batch of a table."""
        return self.written.get(table)

    def record_batch(self, table: str, batch: WrittenBatch) -> None:
        """Records a batch as the last one of a table."""
        self.written[table] = batch

    def prepare(self, table: Table) -> bool:
        """Create the table."""
        created = table.name not in self.tables
        self.tables.setdefault(table.name, {})
        return created

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Delete rows."""
        for key in keys:
            self.tables[table.name].pop(key, None)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Write rows."""
        positions = [[column.name for column in table.columns].index(name) for name in table.key]
        for row in rows:
            assert len(row) == len(table.columns)
            self.tables[table.name][tuple(row[position] for position in positions)] = row


def current_panes(panes: Iterable[Pane[A]]) -> list[Pane[A]]:
    """Returns the current panes: a retraction removes a pane, and a value replaces those of an earlier index."""
    current: dict[object, list[Pane[A]]] = {}
    for pane in panes:
        in_window = current.setdefault((_key(pane), pane.window), [])
        if pane.change is Change.RETRACTION:
            in_window.remove(next(other for other in in_window if repr(other.element) == repr(pane.element)))
        elif in_window and in_window[0].index != pane.index:
            current[_key(pane), pane.window] = [pane]
        else:
            in_window.append(pane)
    return [pane for panes in current.values() for pane in panes]


def _key(pane: Pane[object]) -> object:
    return getattr(pane.element, "key", None)


def rows_of(sink: Upsert, panes: Iterable[Pane[object]]) -> list[Row]:
    """Returns the rows of current panes in the table of a sink, without the text of the key."""
    shape = sink.pipeline.shape
    assert shape is not None
    return sort_rows(
        (*to_cells(pane.element, shape), *window_cells(pane.window), *pane_cells(pane)) for pane in panes
    )


def sort_rows(rows: Iterable[Row]) -> list[Row]:
    """Returns rows in an order that includes nulls and NaN."""
    return sorted(rows, key=repr)


def without_key_text(sink: Upsert, rows: Iterable[Row]) -> list[Row]:
    """Returns the rows of a sink's table without the text of the key."""
    first = sink.table.columns[0].name == "key_json"
    return sort_rows(row[1:] if first else row for row in rows)
