"""What checks of topics find: the numbers of what happened, what differs, and the rows of tables by their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from attrs import define, field
from flowalg_kafka import Kafka
from flowalg_sinks import PostgreSQL
from flowalg_sinks.databases.tables import Cell, Table

SHOWN = 5


@define
class Outcome:
    """What happened in runs, and the problems."""

    counts: Counter[str] = field(factory=Counter)
    problems: list[str] = field(factory=list)

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in self.counts.items())


def unequal(what: str, actual: Counter[object], expected: Counter[object]) -> Iterator[str]:
    """Yields what is missing and what is unexpected."""
    for name, difference in (("missing", expected - actual), ("unexpected", actual - expected)):
        if difference:
            shown = [str(value) for value in difference][:SHOWN]
            yield f"{difference.total()} {name} {what}: {'; '.join(shown)}"


def named_rows(target: Kafka | PostgreSQL, table: Table) -> list[Mapping[str, Cell]]:
    """Returns the rows of a table, as cells by the names of their columns."""
    return [
        {column.name: cell for column, cell in zip(table.columns, row, strict=True)}
        for row in target.rows(table)
    ]
