"""Columns of files that an input names, and files that lack a column: one reading, whatever is read with a file.

The tests catch a partition that has two names, a column that is null because of another file, and a raw error of Polars
for a column of another type.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, Frames, StreamInput

from flowalg import BoundedOutOfOrderness, Count, FixedWindows, Source
from flowalg.errors import ElementError, SchemaMismatchError

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
POLICY = BoundedOutOfOrderness(timedelta(0))


@frozen
class Item:
    """A record of a file."""

    key: str
    count: int | None
    at: datetime


ITEMS = Source("items", Item, event_time=lambda item: item.at)
COUNTS = (
    ITEMS.key_by(lambda item: item.key)
    .window(FixedWindows(MINUTE), allowed_lateness=timedelta(0))
    .combine_per_key(Count())
)


def put(folder: Path, *texts: str) -> None:
    """Writes files, which are read in this order."""
    for number, text in enumerate(texts):
        path = folder / str(number)
        path.write_text(text)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def csv(*rows: str) -> str:
    """Returns a CSV file with a column of devices, each row a minute and a device."""
    parts = (row.split(" ") for row in rows)
    return "key,count,at,device\n" + "".join(
        f"a,1,2024-01-01T12:{minute}:00Z,{device}\n" for minute, device in parts
    )


@pytest.mark.parametrize("per_batch", [1, 3])
@pytest.mark.parametrize("device", ["007", "1.50", "TRUE", "2024-01-01T12:00:00Z", "1e3"])
def test_a_partition_has_one_name(tmp_path: Path, per_batch: int, device: str) -> None:
    """It is the text of its column, and not that of a number or a time where all texts of a file are some."""
    put(tmp_path, csv(f"00 {device}", "00 008"), csv(f"10 {device}", "10 x"), csv("05 008"))
    stream = StreamInput(Files(tmp_path, "csv", per_batch=per_batch), POLICY, partition="device")
    batches = list(streaming.batches(COUNTS, {ITEMS: stream}, metrics=True))
    names = {name for batch in batches for source in batch.sources for name in source.reached}
    assert names == {device, "008", "x"}
    assert [pane.value for batch in batches for pane in batch.panes] == [2], "the watermark is at 12:05"


def test_columns_of_json_lines_are_texts_in_any_files(tmp_path: Path) -> None:
    """A partition may be a text or a number; a column of signals may be in no record of a file; a list is none."""
    line = '{{"key":"a","count":1,"at":"2024-01-01T12:00:00Z","device":{}}}\n'
    put(tmp_path, line.format('"x"'), line.format('"x"') + line.format("7"))
    stream = StreamInput(Files(tmp_path, "jsonl"), POLICY, partition="device", signal="signal")
    batches = list(streaming.batches(ITEMS, {ITEMS: stream}, metrics=True))
    assert [sorted(source.reached) for batch in batches for source in batch.sources] == [["x"], ["7", "x"]]
    put(tmp_path, line.format("[1]"))
    with pytest.raises(ElementError, match=r"row 1: device must be of type string; got \[1\]"):
        list(streaming.batches(ITEMS, {ITEMS: stream}))


@pytest.mark.parametrize("per_batch", [1, 2])
@pytest.mark.parametrize("dead_letters", [False, True])
def test_a_csv_file_that_lacks_a_column_is_an_error(
    tmp_path: Path, per_batch: int, dead_letters: bool
) -> None:
    """It is one, with the name of the file, also for a field that may be null, whatever is read with the file."""
    put(tmp_path, csv("00 x"), "key,at,device\na,2024-01-01T12:00:00Z,x\n")
    stream = StreamInput(Files(tmp_path, "csv", per_batch=per_batch), POLICY)
    with pytest.raises(ElementError, match=r"/1: count must be a column; the header has key, at, device"):
        list(streaming.batches(ITEMS, {ITEMS: stream}, dead_letters=dead_letters))


@pytest.mark.parametrize("per_batch", [1, 2])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("argument", ["processing_time", "partition"])
def test_a_file_without_the_column_of_a_clock_is_an_error(
    tmp_path: Path, format: Literal["csv", "jsonl"], argument: str, per_batch: int
) -> None:
    """Its records are not of the time, or of the partition, of the files that are read with it."""
    if format == "csv":
        texts = ["key,count,at\na,1,2024-01-01T12:00:00Z\n", csv("00 2024-01-01T12:00:00Z")]
    else:
        line = '{"key":"a","count":1,"at":"2024-01-01T12:00:00Z"}\n'
        texts = [line, line.replace("}", ',"device":"2024-01-01T12:00:00Z"}')]
    put(tmp_path, *texts)
    data, column = Files(tmp_path, format, per_batch=per_batch), "device"
    stream = (
        StreamInput(data, POLICY, partition=column)
        if argument == "partition"
        else StreamInput(data, POLICY, processing_time=column)
    )
    with pytest.raises(SchemaMismatchError, match=f"{argument} is 'device', which is no column of its rows"):
        list(streaming.batches(ITEMS, {ITEMS: stream}))


@pytest.mark.parametrize("dead_letters", [False, True])
@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("csv", ""),
        ("csv", "key,count,at,device\n"),
        ("csv", 'key,count,at,device\n"bad\n'),
        ("jsonl", "\n"),
        ("jsonl", "bad\n"),
    ],
)
def test_a_file_without_records_lacks_no_column(
    tmp_path: Path, format: Literal["csv", "jsonl"], text: str, dead_letters: bool
) -> None:
    """A header has a column of a clock also if no record follows it; no line, or only a bad one, lacks no column."""
    put(tmp_path, text)
    stream = StreamInput(Files(tmp_path, format), POLICY, processing_time="device")
    read = streaming.batches(ITEMS, {ITEMS: stream}, dead_letters=dead_letters)
    if "bad" in text and not dead_letters:
        with pytest.raises(ElementError, match="row 1"):
            list(read)
        return
    batches = list(read)
    assert [len(batch.bad_records) for batch in batches] == ["bad" in text] * len(batches)
    assert not any(batch.elements for batch in batches)


def test_a_header_without_the_column_of_a_clock_is_an_error(tmp_path: Path) -> None:
    """It is one without records too."""
    put(tmp_path, "key,count,at\n")
    stream = StreamInput(Files(tmp_path, "csv"), POLICY, processing_time="device")
    with pytest.raises(
        SchemaMismatchError, match="processing_time is 'device', which is no column of its rows"
    ):
        list(streaming.batches(ITEMS, {ITEMS: stream}))


FRAME = pl.DataFrame(
    {"key": ["a"], "count": [1], "at": [NOON], "seen": [None], "naive": [NOON.replace(tzinfo=None)]},
    schema_overrides={"seen": pl.Datetime("us", "UTC")},
)


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (StreamInput(Frames([FRAME]), POLICY, processing_time="naive"), "a timestamp with a time zone; got"),
        (StreamInput(Frames([FRAME]), POLICY, source_watermark="count"), "a timestamp with a time zone; got"),
        (StreamInput(Frames([FRAME]), POLICY, tick="key"), "tick must be a column of booleans; got"),
        (StreamInput(Frames([FRAME]), POLICY, end_of_input="at"), "a column of booleans; got"),
        (StreamInput(Frames([FRAME]), POLICY, partition=pl.struct("key")), "a column of texts; got"),
        (StreamInput(Frames([FRAME]), POLICY, signal_window="at"), "a struct of the timestamps start and"),
        (StreamInput(Frames([FRAME]), POLICY, processing_time=pl.col("key") + pl.col("at")), "time zone; "),
        (StreamInput(Frames([FRAME]), POLICY, processing_time=pl.col("ms") + 1), "which is no column of its"),
    ],
)
def test_a_column_of_another_type_is_named(stream: StreamInput, message: str) -> None:
    """The error has the source, the argument, the column, its type, and what it must be."""
    with pytest.raises(SchemaMismatchError, match=f"source 'items': StreamInput.*{message}"):
        list(streaming.batches(ITEMS, {ITEMS: stream}))


def test_elements_without_a_processing_time_are_an_error() -> None:
    """Where rows carry the clock, a micro-batch in which none has it is at no time."""
    stream = StreamInput(Frames([FRAME]), POLICY, processing_time="seen")
    with pytest.raises(ElementError, match=r"source 'items': StreamInput.processing_time must not be null"):
        list(streaming.batches(ITEMS, {ITEMS: stream}))
