"""The progress of a query that runs in a process of its own, by its checkpoint.

A micro-batch reads one file. But Spark has two logs: that of a source has the files which a micro-batch is to read, and
that of offsets has the micro-batch. A query that is killed between them reads the next file too in that micro-batch. So
its output is that of a query whose input has the two files as one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import polars as pl

Batches: TypeAlias = tuple[tuple[str, ...], ...]
"""The names of the files that each micro-batch has read."""


def entries(log: Path) -> Iterator[Path]:
    """Yields the files of a log of Spark in order; a compacted one has the entries of those before it."""
    return iter(sorted(log.glob("[0-9]*"), key=number_of))


def number_of(entry: Path) -> int:
    """Returns the number of the micro-batch of a file in a log."""
    return int(entry.name.partition(".")[0])


def files_of_batches(folder: Path) -> Batches:
    """Returns the files that each micro-batch of the query of a folder has read; those without files are left out.

    Raises ``RuntimeError`` unless each file of its input was read once.
    """
    checkpoint = folder / "checkpoint"
    numbers: dict[str, int] = {}
    for entry in entries(checkpoint / "sources" / "0"):
        for line in entry.read_text().splitlines()[1:]:
            file = json.loads(line)
            numbers[Path(file["path"]).name] = file["batchId"]
    batches, before = [], -1
    for entry in entries(checkpoint / "offsets"):
        until = json.loads(entry.read_text().splitlines()[-1])["logOffset"]
        batches.append(tuple(sorted(name for name, number in numbers.items() if before < number <= until)))
        before = until
    read, existing = (
        sorted(chain.from_iterable(batches)),
        sorted(path.name for path in (folder / "in").iterdir()),
    )
    if read != existing:
        raise RuntimeError(f"the query in {folder} has read the files {read}, and its input has {existing}")
    return tuple(names for names in batches if names)


def join_files(source: Path, batches: Batches, target: Path) -> None:
    """Writes an input with one file for each micro-batch, which has the rows of all its files."""
    target.mkdir(parents=True)
    for number, names in enumerate(batches):
        path = target / f"{number:04}.parquet"
        pl.concat(pl.read_parquet(source / name) for name in names).write_parquet(path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
