"""The clocks after a node that holds elements back (SEMANTICS section 9)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowalg import EventTime, ProcessingTime
from flowalg.runs.clocks import BEGINNING, Clocks

TIMES = st.integers(0, 9).map(EventTime)


@given(st.lists(st.tuples(TIMES, TIMES, TIMES), max_size=6))
def test_a_hold_stops_watermarks_of_both_kinds_and_moves_none_back(
    readings: list[tuple[EventTime, EventTime, EventTime]],
) -> None:
    """Neither watermark passes a hold that it has not passed already, and a percentile watermark is held as one is."""
    held = of_percentile = BEGINNING
    for watermark, percentile, hold in readings:
        before = held
        held = Clocks(ProcessingTime(0), watermark, {0.5: percentile}).with_hold(hold, held)
        of_percentile = Clocks(ProcessingTime(0), percentile).with_hold(hold, of_percentile)
        assert held.watermark == max(before.watermark, min(watermark, hold))
        assert held.percentiles == {0.5: of_percentile.watermark}
        assert held.percentiles[0.5] >= before.percentiles.get(0.5, EventTime(0))
