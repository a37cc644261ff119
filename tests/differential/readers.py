"""Compares the readers of text on generated files: what each reads is what the file has, and no record is lost."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

# The files are tiny, so threads only cost time. Polars reads the variable at its import.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import pyarrow as pa
from attrs import define, frozen
from flowalg_columns.text.files import lines_of, not_blank
from flowalg_kafka import KafkaInput
from flowalg_kafka.decoding import decode_messages
from flowalg_polars import streaming
from flowalg_polars.lowering.sifting import stored_records
from flowalg_polars.streaming import Files, StreamInput
from flowalg_tools.cli.files import read_table
from flowalg_tools.cli.inputs import read_records
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy

from flowalg import BoundedOutOfOrderness, Count, FixedWindows
from flowalg.data.json_text import render_json
from flowalg.pipeline.source import source_node
from flowalg.runs import BadRecord
from flowalg.runs.elements import good_records
from tests.support.text_files import BAD, TEXT_SOURCE, TextFile, text_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A = TypeVar("A")

FILES: Final = 20_000
CHUNK: Final = 500
SHOWN: Final = 3
POLICY: Final = BoundedOutOfOrderness(timedelta(0))
NODE: Final = source_node(TEXT_SOURCE)
COUNTS: Final = (
    TEXT_SOURCE.key_by(lambda record: record.key)
    .window(FixedWindows(timedelta(days=365)), allowed_lateness=timedelta(0))
    .combine_per_key(Count())
)


def generate(values: SearchStrategy[A], count: int, seed: int) -> list[A]:
    """Returns generated values."""
    generated: list[A] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(values)
    def collect(value: A) -> None:
        generated.append(value)

    collect()
    return generated


@frozen
class Reading:
    """What a reader found in a file: its records, in no order, and the number of bad ones."""

    records: Counter[str]
    bad: int

    @classmethod
    def of(cls, records: Iterable[object], bad: int) -> Reading:
        """Returns records as a reading; as texts, since NaN equals nothing."""
        return cls(Counter(map(render_json, records)), bad)

    def __add__(self, other: Reading) -> Reading:
        """Returns what two files have."""
        return Reading(self.records + other.records, self.bad + other.bad)


def expected(file: TextFile) -> Reading:
    """Returns what a file has."""
    good = [record for record in file.records if record is not BAD]
    return Reading.of(good, len(file.records) - len(good))


def read_by_command_line(path: Path, kind: str) -> Reading:
    """Returns what the command line reads for the reference interpreter, and what that takes for a record."""
    bad: list[BadRecord] = []
    table = read_table(TEXT_SOURCE, path, bad=bad)
    good = good_records(NODE, read_records(TEXT_SOURCE, table, path, lenient=True), bad)
    return Reading.of(good, len(bad))


def read_as_messages(data: bytes) -> Reading:
    """Returns what Kafka's decoder reads, with each line as a message."""
    lines = lines_of(data.removeprefix(b"\xef\xbb\xbf")) if data.strip() else pa.array([], pa.large_binary())
    lines = lines.take(not_blank(lines))
    count = len(lines)
    messages = pa.table(
        {
            "partition": pa.array([0] * count, pa.int64()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.nulls(count, pa.timestamp("us", "UTC")),
            "value": lines,
        }
    )
    bad: list[BadRecord] = []
    rows = decode_messages(
        NODE, KafkaInput("localhost:1", "texts"), messages, lambda _, record: bad.append(record)
    )
    import polars as pl

    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame), "a table is a frame"
    good = good_records(NODE, stored_records(NODE, frame), bad)
    return Reading.of(good, len(bad))


def read_as_stream(folder: Path, kind: str) -> Iterator[Reading]:
    """Yields what the local engine reads of each file of a folder, each a micro-batch."""
    inputs = {TEXT_SOURCE: StreamInput(Files(folder, "csv" if kind == "csv" else "jsonl"), POLICY)}
    for batch in streaming.batches(TEXT_SOURCE, inputs, dead_letters=True):
        yield Reading.of((element.element for element in batch.elements), len(batch.bad_records))


def lost_in_stream(folder: Path, kind: str, files: Sequence[TextFile]) -> str:
    """Returns how the records of a folder differ from those in final panes, drops and bad records; empty if not."""
    inputs = {
        TEXT_SOURCE: StreamInput(Files(folder, "csv" if kind == "csv" else "jsonl", per_batch=50), POLICY)
    }
    batches = list(streaming.batches(COUNTS, inputs, dead_letters=True, drain=True))
    counted = sum(pane.value for batch in batches for pane in batch.panes)
    dropped = sum(batch.dropped_count for batch in batches)
    bad = sum(len(batch.bad_records) for batch in batches)
    records = sum(len(file.records) for file in files)
    if counted + dropped + bad == records:
        return ""
    return f"{records} records, but {counted} in panes, {dropped} dropped and {bad} bad"


def read_on_spark(spark: SparkSession, folder: Path, kind: str) -> Reading:
    """Returns what a batch of Spark reads of a folder."""
    from flowalg_spark import batch, read_files

    frame = read_files(spark, TEXT_SOURCE, str(folder), format=kind, dead_letters=True)
    run = batch.run(TEXT_SOURCE, {TEXT_SOURCE: frame}, dead_letters=True)
    return Reading.of((element.element for element in run.elements), len(run.bad_records))


@define
class Comparison:
    """Compares readers on chunks of files, and keeps the files that differ."""

    spark: SparkSession | None
    compared: int = 0
    different: int = 0

    def compare(self, files: Sequence[TextFile]) -> None:
        """Compares the readers on some files."""
        for kind in ("csv", "json"):
            of_kind = [file for file in files if file.kind == kind]
            if of_kind:
                with tempfile.TemporaryDirectory() as folder:
                    self._compare(of_kind, Path(folder), kind)

    def _compare(self, files: Sequence[TextFile], folder: Path, kind: str) -> None:
        paths = [
            folder / f"{number:05}.{'csv' if kind == 'csv' else 'jsonl'}" for number in range(len(files))
        ]
        for number, (file, path) in enumerate(zip(files, paths, strict=True)):
            path.write_bytes(file.data)
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        wanted = list(map(expected, files))
        in_stream = list(read_as_stream(folder, kind))
        for number, (file, path) in enumerate(zip(files, paths, strict=True)):
            readers = {
                "the reference's": read_by_command_line(path, kind),
                "the local engine's": in_stream[number],
            }
            if kind == "json":
                readers["Kafka's"] = read_as_messages(file.data)
            for name, reading in readers.items():
                if reading != wanted[number]:
                    self._report(file, f"{name} reader: {_unlike(reading, wanted[number])}")
                    break
        self.compared += len(files)
        lost = lost_in_stream(folder, kind, files)
        if lost:
            self._report(files[0], f"a stream of {len(files)} files has {lost}")
        if self.spark is not None:
            reading = read_on_spark(self.spark, folder, kind)
            total = sum(wanted[1:], start=wanted[0])
            if reading != total:
                self._report(files[0], f"Spark's reader, in {len(files)} files: {_unlike(reading, total)}")

    def _report(self, file: TextFile, problem: str) -> None:
        self.different += 1
        kept = Path("build", "fuzz-readers")
        kept.mkdir(parents=True, exist_ok=True)
        path = kept / f"{self.different:05}.{'csv' if file.kind == 'csv' else 'jsonl'}"
        path.write_bytes(file.data)
        if self.different <= SHOWN:
            print(f"{path}: {problem}\n{file}", flush=True)


def _unlike(reading: Reading, wanted: Reading) -> str:
    more, fewer = reading.records - wanted.records, wanted.records - reading.records
    return f"{reading.bad} bad instead of {wanted.bad}; also {list(more)[:2]}; not {list(fewer)[:2]}"


def check(files: int = FILES, without_spark: bool = False, seed: int = 0) -> int:
    """Writes files of CSV and of JSON lines, and compares the readers on them.

    They are read as the command line does for the reference, as a stream of the local engine, as a batch of Spark, and
    the lines of JSON as messages of Kafka. Files that differ are printed and kept in ``build/fuzz-readers``. The last
    line is ``readers: N files, K differ``.
    """
    spark = None
    if not without_spark:
        from flowalg_spark import local_session

        spark = local_session("fuzz-readers")
    try:
        comparison = Comparison(spark)
        for start in range(0, files, CHUNK):
            comparison.compare(generate(text_files(), min(CHUNK, files - start), seed + start))
            print(f"{comparison.compared} files, {comparison.different} differ", flush=True)
    finally:
        if spark is not None:
            spark.stop()
    print(f"readers: {comparison.compared} files, {comparison.different} differ")
    return 1 if comparison.different else 0
