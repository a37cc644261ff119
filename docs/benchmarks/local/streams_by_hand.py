"""The streams in Polars by hand: each keeps its state in a frame, and yields its panes batch by batch.

Every batch drops the rows that are too late, adds the others to the sums of their windows, and takes out what the
watermark completes. The panes have the columns ``PANE``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

from docs.benchmarks.stream.data import DISORDER, MINUTE

GAP: Final = MINUTE // 2
PANE: Final = ("key", "start", "value", "change")
VALUE: Final = "value"
RETRACTION: Final = "retraction"
BEFORE: Final = -(2**62)


def on_time(files: Iterable[Path]) -> Iterator[pl.DataFrame]:
    """A sum of each key and minute, when the watermark passes its end."""
    state, watermark = pl.LazyFrame(), BEFORE
    for path in files:
        rows, latest = _minutes(path)
        sums = rows.filter(pl.col("start") + MINUTE > watermark).group_by("key", "start").agg(_total())
        if watermark > BEFORE:
            sums = pl.concat([state, sums]).group_by("key", "start").agg(_total())
        windows = sums.collect(engine="streaming")
        watermark = max(watermark, latest - DISORDER)
        done = pl.col("start") + MINUTE <= watermark
        yield windows.filter(done).select("key", "start", "value", pl.lit(VALUE).alias("change"))
        state = windows.filter(~done).lazy()


def corrected(files: Iterable[Path], *, retracting: bool) -> Iterator[pl.DataFrame]:
    """The same sums, early in every batch, and again for late rows of up to a minute."""
    state, watermark = pl.LazyFrame(), BEFORE
    for path in files:
        rows, latest = _minutes(path)
        new = (
            rows.filter(pl.col("start") + 2 * MINUTE > watermark)
            .group_by("key", "start")
            .agg(_total())
            .with_columns(pl.lit(None, pl.Int64()).alias("last"), pl.lit(True).alias("changed"))
        )
        if watermark > BEFORE:
            both = pl.concat([state.with_columns(pl.lit(False).alias("changed")), new])
            new = both.group_by("key", "start").agg(_total(), pl.max("last"), pl.any("changed"))
        windows = new.collect(engine="streaming")
        watermark = max(watermark, latest - DISORDER)
        changed = windows.filter(pl.col("changed"))
        values = changed.select("key", "start", "value", pl.lit(VALUE).alias("change"))
        if retracting:
            old = changed.filter(pl.col("last").is_not_null())
            retractions = old.select(
                "key", "start", pl.col("last").alias("value"), pl.lit(RETRACTION).alias("change")
            )
            yield pl.concat([retractions, values])
        else:
            yield values
        state = (
            windows.filter(pl.col("start") + 2 * MINUTE > watermark)
            .select("key", "start", "value", pl.col("value").alias("last"))
            .lazy()
        )


def sessions(files: Iterable[Path]) -> Iterator[pl.DataFrame]:
    """A sum of each session of a key, when the watermark passes its end."""
    state, watermark = pl.LazyFrame(), BEFORE
    for path in files:
        frame = _read(path)
        rows = frame.lazy().select(
            "key", pl.col("at").alias("start"), (pl.col("at") + GAP).alias("end"), "value"
        )
        if watermark > BEFORE:
            rows = pl.concat([state, rows])
        ordered = rows.sort("key", "start")
        begins = (pl.col("key") != pl.col("key").shift(1)) | (
            pl.col("start") > pl.col("end").cum_max().over("key").shift(1)
        )
        islands = ordered.with_columns(begins.fill_null(True).cum_sum().alias("island")).group_by("island")
        merged = islands.agg(pl.first("key"), pl.min("start"), pl.max("end"), _total()).drop("island")
        # A session of late rows alone is dropped; a late row that joins an open session is not.
        windows = merged.filter(pl.col("end") > watermark).collect(engine="streaming")
        watermark = max(watermark, _latest(frame) - DISORDER)
        done = pl.col("end") <= watermark
        yield windows.filter(done).select("key", "start", "value", pl.lit(VALUE).alias("change"))
        state = windows.filter(~done).lazy()


def _minutes(path: Path) -> tuple[pl.LazyFrame, int]:
    """The key, minute and value of each row, and the greatest event time."""
    frame = _read(path)
    return frame.lazy().select("key", pl.col("at") // MINUTE * MINUTE, "value").rename(
        {"at": "start"}
    ), _latest(frame)


def _read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path).select(
        pl.col("sensor").alias("key"), pl.col("at").to_physical(), pl.col("value")
    )


def _latest(frame: pl.DataFrame) -> int:
    latest = frame["at"].max()
    assert isinstance(latest, int), "a batch has rows"
    return latest


def _total() -> pl.Expr:
    return pl.sum("value")
