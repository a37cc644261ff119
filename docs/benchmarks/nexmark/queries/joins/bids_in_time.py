"""Each auction with its bids, which queries 4, 6 and 9 share: those between its beginning and its end."""

from __future__ import annotations

from typing import Final

from docs.benchmarks.nexmark.model import AUCTIONS, BIDS
from docs.benchmarks.nexmark.query import as_they_come

BIDS_IN_TIME: Final = (
    as_they_come(AUCTIONS.key_by(lambda auction: auction.id))
    .inner_join(as_they_come(BIDS.key_by(lambda bid: bid.auction)))
    .map(lambda pair: pair.value)
    .filter(lambda pair: pair[0].date_time <= pair[1].date_time <= pair[0].expires)
)
