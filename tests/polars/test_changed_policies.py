"""A query that continues with another watermark policy: no clock of its stages moves back."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from attrs import frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, StreamInput

from flowalg import KV, BoundedOutOfOrderness, Count, FixedWindows, Source, flatten
from flowalg.data.time import event_time, processing_time
from flowalg.runs.clocks import Clocks, minimum
from tests.support.scores import minute

NO_DELAY = timedelta(0)


@frozen
class Item:
    """A record of a file."""

    key: str
    at: datetime


SLOW = Source("slow", Item, event_time=lambda item: item.at)
FAST = Source("fast", Item, event_time=lambda item: item.at)
COUNTS = (
    flatten(SLOW, FAST)
    .key_by(lambda item: item.key)
    .window(FixedWindows(timedelta(minutes=1)), allowed_lateness=NO_DELAY)
    .combine_per_key(Count())
)


def put(folder: Path, key: str, at: float, seen: float) -> None:
    """Writes a file of one record."""
    folder.mkdir(exist_ok=True)
    text = f"key,at,seen\n{key},{minute(at).isoformat()},{minute(seen).isoformat()}\n"
    (folder / str(seen)).write_text(text)


def test_a_source_that_is_idle_no_longer_leaves_the_watermark_where_it_was(tmp_path: Path) -> None:
    """What followed other sources while its source was idle does not move back if the policy knows no idle source.

    An element of a window that has expired is dropped, although the source itself is behind it.
    """

    def run(slow: BoundedOutOfOrderness) -> tuple[list[KV[str, int]], int]:
        policies = {SLOW: slow, FAST: BoundedOutOfOrderness(NO_DELAY)}
        inputs = {
            source: StreamInput(Files(tmp_path / source.name, "csv"), policy, processing_time="seen")
            for source, policy in policies.items()
        }
        read = list(streaming.batches(COUNTS, inputs, checkpoint=tmp_path / "checkpoint"))
        return [pane.element for batch in read for pane in batch.panes], sum(b.dropped_count for b in read)

    idle = BoundedOutOfOrderness(NO_DELAY, idle_after=timedelta(minutes=1))
    put(tmp_path / "slow", "early", 0, 0)
    put(tmp_path / "fast", "first", 10, 10)
    assert run(idle) == ([], 0)
    put(tmp_path / "fast", "second", 11, 11)
    assert run(idle) == ([KV("early", 1), KV("first", 1)], 0)
    put(tmp_path / "fast", "third", 12, 12)
    assert run(BoundedOutOfOrderness(NO_DELAY)) == ([], 0)
    put(tmp_path / "slow", "early", 0.5, 13)
    assert run(BoundedOutOfOrderness(NO_DELAY)) == ([], 1)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_clocks_of_a_union_do_not_move_back(share: float) -> None:
    """Neither its watermark nor a percentile watermark is behind that of before, whatever the policies now say."""

    def clocks(minutes: float) -> Clocks:
        time = event_time(minute(minutes))
        return Clocks(processing_time(minute(0)), time, {share: time})

    before = clocks(3)
    after = minimum([clocks(1), clocks(2)], before)
    assert (after.watermark, after.percentile(share)) == (before.watermark, before.percentile(share))
    ahead = minimum([clocks(4), clocks(5)], before)
    assert (ahead.watermark, ahead.percentile(share)) == (clocks(4).watermark, clocks(4).watermark)
