"""Late data: the elements that an instant dropped, one by one, found again by what the step says of their bundle.

A bundle has a row for each key, window and, where that matters, event time. All elements of such a row share its fate:
an element was dropped if the row of its key and window was. So the step combines elements as it does without late data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from flowalg.data.time import EventTime
from flowalg_shard.contents.stage import Stage
from flowalg_shard.step.bundle import in_windows, keeps_event_times
from flowalg_shard.step.shard_state import Late
from flowalg_shard.tables.columns import DROP_REASON, END, EVENT_TIME, POINT
from flowalg_shard.tables.packing import stack, unpack

BEFORE: Final = "__before"
"""The watermark before the instant, of a row that was dropped."""

_SIZE: Final = 8
"""The bytes of the size of a bundle, which is before it where the elements follow."""


def may_be_dropped(stage: Stage, before: EventTime) -> pl.Expr:
    """Returns whether an instant may drop an element, by its columns; ``before`` is the watermark before the instant.

    An expired window that contains an event time ends after it.
    """
    if stage.automaton.finishes:
        return pl.lit(True)
    limit = stage.expired_up_to(before)
    if limit is None:
        return pl.lit(False)
    return pl.col(EVENT_TIME) < limit if stage.fresh else pl.col(END) <= limit


def dropped_rows(stage: Stage, rows: pl.DataFrame, late: Sequence[Late]) -> pl.DataFrame:
    """Returns the rows of elements that were dropped, in order, each in its window and with ``DROP_REASON``.

    ``late`` has what each shard dropped. ``rows`` have the key columns of the stage, the event time, their windows if
    they bring any, and any others.
    """
    by = [*stage.window_key, *([POINT] if keeps_event_times(stage) else [])]
    dropped = stack(
        [
            part.select(by).unique().with_columns(pl.lit(reason.value).alias(DROP_REASON))
            for shard in late
            for reason, part in shard.rows
            if not part.is_empty()
        ]
    )
    placed = in_windows(stage, rows.lazy()).with_columns(pl.col(EVENT_TIME).alias(POINT))
    matched = placed.collect().join(dropped, on=by, how="inner", nulls_equal=True, maintain_order="left")
    return matched.with_columns(pl.lit(late[0].before, pl.Int64()).alias(BEFORE))


def with_elements(bundles: Mapping[int, bytes], elements: Mapping[int, bytes]) -> dict[int, bytes]:
    """Returns the packed bundle of each shard with the packed rows of its elements."""
    return {
        shard: len(bundle).to_bytes(_SIZE, "big") + bundle + elements[shard]
        for shard, bundle in bundles.items()
    }


def unpack_with_elements(packed: bytes) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns a bundle and the rows of its elements."""
    end = _SIZE + int.from_bytes(packed[:_SIZE], "big")
    return unpack(packed[_SIZE:end]), unpack(packed[end:])
