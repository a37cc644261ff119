"""What sinks of panes share: a micro-batch is read once, and written with its drops in one transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

from attrs import evolve, field, frozen

from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import Output
from flowalg_sinks.databases.tables import Row, Table
from flowalg_sinks.databases.target import Target, Transaction, WrittenBatch
from flowalg_sinks.drops import drop_rows, drop_table, prepare_drops
from flowalg_sinks.exactly_once import require_written, write_once

A_co = TypeVar("A_co", covariant=True)


@frozen
class SinkBatch(Generic[A_co]):
    """The output of a micro-batch, in order, and its drops; ``None`` if its frame has no column ``drop``.

    With ``late_data`` each drop is one element.
    """

    output: Output[A_co]
    drops: tuple[Mapping[str, object], ...] | None
    late_data: bool = False


@frozen
class PaneSink:
    """A sink that writes panes or elements to a table, and drops to a second one if it ``has_drops``."""

    has_drops: ClassVar[bool] = True

    pipeline: PCollection[object]
    target: Target
    name: str
    since: int
    _own: dict[str, WrittenBatch] = field(factory=dict, init=False, eq=False, repr=False)

    @cached_property
    @abstractmethod
    def table(self) -> Table:
        """The table of the panes or elements."""
        raise NotImplementedError

    @abstractmethod
    def _changes(self, batch: int, output: SinkBatch[object]) -> tuple[Sequence[Row], Sequence[Row]]:
        """Returns the keys of the rows that a micro-batch deletes, and the rows that it writes."""

    def write(self, output: SinkBatch[object], batch: WrittenBatch, *, after: str | None = None) -> bool:
        """Writes a micro-batch if the table does not have it, and returns whether it did so.

        ``after`` is the fingerprint of what the micro-batch before it has read, if the engine has one. Raises
        ``SinkError`` if rows would be lost.
        """
        deleted, rows = self._changes(batch.batch, output)
        drops = output.drops if self.has_drops else None
        written = evolve(batch, has_drops=drops is not None)

        def prepare(transaction: Transaction, last: WrittenBatch | None) -> None:
            require_written(self.name, last, created=transaction.prepare(self.table))
            if drops is not None:
                prepare_drops(transaction, self.name, last)

        def write(transaction: Transaction) -> None:
            if deleted:
                transaction.delete(self.table, deleted)
            transaction.put(self.table, rows)
            if drops is not None:
                transaction.put(drop_table(self.name), drop_rows(self.pipeline, batch.batch, drops))

        own = self._own.get(self.name)
        wrote = write_once(
            self.target, self.name, written, prepare, write, first=self.since, after=after, own=own
        )
        self._own[self.name] = written
        return wrote
