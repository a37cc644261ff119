"""All queries, in the order of their numbers."""

from __future__ import annotations

from typing import Final

from docs.benchmarks.nexmark.queries.joins import (
    q3_local_items,
    q4_category_prices,
    q6_seller_prices,
    q8_new_users,
    q9_winning_bids,
    q13_side_input,
    q20_expanded_bids,
)
from docs.benchmarks.nexmark.queries.rows import (
    q0_pass_through,
    q1_currency,
    q2_selection,
    q10_log,
    q14_calculation,
    q21_channel_id,
    q22_folders,
)
from docs.benchmarks.nexmark.queries.windows import (
    q5_hot_items,
    q7_highest_bid,
    q11_sessions,
    q12_processing_time,
    q15_bidding_statistics,
    q16_channel_statistics,
    q17_auction_statistics,
    q18_last_bid,
    q19_top_ten,
)

QUERIES: Final = (
    q0_pass_through.QUERY,
    q1_currency.QUERY,
    q2_selection.QUERY,
    q3_local_items.QUERY,
    q4_category_prices.QUERY,
    q5_hot_items.QUERY,
    q6_seller_prices.QUERY,
    q7_highest_bid.QUERY,
    q8_new_users.QUERY,
    q9_winning_bids.QUERY,
    q10_log.QUERY,
    q11_sessions.QUERY,
    q12_processing_time.QUERY,
    q13_side_input.QUERY,
    q14_calculation.QUERY,
    q15_bidding_statistics.QUERY,
    q16_channel_statistics.QUERY,
    q17_auction_statistics.QUERY,
    q18_last_bid.QUERY,
    q19_top_ten.QUERY,
    q20_expanded_bids.QUERY,
    q21_channel_id.QUERY,
    q22_folders.QUERY,
)
