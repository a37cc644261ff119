"""Query 3: who sells in Oregon, Idaho or California, and which auctions of category 10."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import AUCTIONS, PERSONS
from docs.benchmarks.nexmark.query import Query, as_they_come


@frozen
class Row:
    """A seller and an auction."""

    name: str
    city: str
    state: str
    auction: int


sellers: Final = PERSONS.filter(lambda person: person.state in ("OR", "ID", "CA")).key_by(lambda p: p.id)
items: Final = AUCTIONS.filter(lambda auction: auction.category == 10).key_by(lambda a: a.seller)

QUERY: Final = Query(
    3,
    "local items",
    "filter, inner_join without windows",
    as_they_come(sellers)
    .inner_join(as_they_come(items))
    .map(lambda pair: Row(pair.value[0].name, pair.value[0].city, pair.value[0].state, pair.value[1].id)),
    """
    SELECT name, city, state, auction.id AS auction FROM auction JOIN person ON seller = person.id
    WHERE category = 10 AND state IN ('OR', 'ID', 'CA')
    """,
)
