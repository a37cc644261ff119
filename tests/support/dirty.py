"""A dirty table: good rows, rows that cannot be read, and rows on which a function of the pipeline raises."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum, unique
from typing import Final

import pyarrow as pa
from attrs import frozen
from flowalg_columns.tables import arrow_schema_of

from flowalg import FOREVER, KV, Count, FixedWindows, Max, PCollection, Source, Sum
from flowalg.runs import BadRecord

NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
MINUTE: Final = timedelta(minutes=1)


@unique
class Kind(Enum):
    """The kind of a sale."""

    CASH = "cash"
    CARD = "card"


@frozen
class Sale:
    """A sale."""

    shop: str
    cents: int
    parts: int
    kind: Kind
    notes: list[str]
    rate: float
    at: datetime


SALES: Final = Source("sales", Sale, event_time=lambda sale: sale.at)

SCHEMA: Final = arrow_schema_of(SALES)


def row(**changed: object) -> dict[str, object]:
    """Returns a good row with some cells changed."""
    good: dict[str, object] = {
        "shop": "north",
        "cents": 300,
        "parts": 3,
        "kind": "CASH",
        "notes": ["ä", 'a "quote"'],
        "rate": 1.5,
        "at": NOON,
    }
    return {**good, **changed}


GOOD: Final = [
    row(),
    row(shop="south", cents=-4, at=NOON + 30 * MINUTE),
    row(cents=50, kind="CARD", at=NOON + MINUTE / 2),
    row(shop="south", notes=[], rate=0.25, at=NOON + timedelta(microseconds=1)),
]
UNREADABLE: Final = [
    row(shop=None),
    row(cents=None, rate=1e21),
    row(kind="CHEQUE", notes=None),
    row(notes=["a", None], at=NOON + timedelta(microseconds=5)),
    row(at=None),
    row(at=datetime(9999, 12, 31, tzinfo=UTC)),
]
FAILING: Final = [
    row(parts=0),
    row(cents=13),
    row(cents=666, shop="south"),
    row(cents=777),
]
DIRTY: Final = [
    cells for triple in zip(GOOD, UNREADABLE[:4], FAILING, strict=True) for cells in triple
] + UNREADABLE[4:]


def checked(sale: Sale) -> Sale:
    """Returns a sale, and raises for one of 13 cents."""
    if sale.cents == 13:
        raise LookupError("no such price")
    return sale


def weight(sale: Sale) -> int:
    """Returns the argument of a combiner, and raises for one sale."""
    if sale.cents == 666:
        raise ValueError("no weight")
    return sale.cents


def twice(sale: Sale) -> list[Sale]:
    """Returns a sale twice, and raises for one sale."""
    if sale.cents == 777:
        raise ValueError("not twice")
    return [sale, sale]


TOTALS: PCollection[KV[str, tuple[int, int, int]]] = (
    SALES.filter(lambda sale: sale.cents // sale.parts < 1_000)
    .map(checked)
    .flat_map(twice)
    .key_by(lambda sale: sale.shop)
    .window(FixedWindows(10 * MINUTE), allowed_lateness=FOREVER)
    .combine_per_key(Sum.of(weight), Count(), Max.of(lambda sale: sale.parts))
)
"""A pipeline with a function of each kind that raises for a row of ``FAILING``."""


def table(rows: list[dict[str, object]]) -> pa.Table:
    """Returns rows as a table."""
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def record_of(cells: dict[str, object]) -> Sale:
    """Returns the record of a row, valid or not, for the reference interpreter."""
    kind = cells["kind"]
    return Sale(**{**cells, "kind": Kind.__members__.get(str(kind), kind)})  # type: ignore[arg-type]  # faults on purpose


def counted(records: tuple[BadRecord, ...]) -> dict[str, int]:
    """Returns the number of bad records of each stage, by the name of its transform."""
    counts: dict[str, int] = {}
    for record in records:
        name = record.stage.partition("(")[0]
        counts[name] = counts.get(name, 0) + 1
    return counts


EXPECTED: Final = {"Source": 6, "filter": 1, "map": 1, "flat_map": 1, "combine_per_key": 2}
"""The numbers of bad records of ``DIRTY``: the combiner receives the sale that it rejects twice."""
