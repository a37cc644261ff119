"""Flink runs the same chain, by its SQL, in an environment and processes of its own."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl

from docs.benchmarks.arrivals import MICROS
from docs.benchmarks.depth.chains import KEYS, Emitted, Ran
from docs.benchmarks.depth.engines import EARLIER, Load
from tests.components.processes import kill_tree

FLINK: Final = "Flink"
FLINK_CHECKPOINTED: Final = "Flink, a checkpoint each second"
PROGRAM: Final = Path(__file__).parent / "programs" / "flink_chain.py"
PATIENCE: Final = 120
"""The seconds in which Flink must start, and emit the first window."""
LAST_PANES: Final = 10
"""The seconds after the last record in which its panes must be printed.

A window that lost records may never be complete.
"""
PANE: Final = re.compile(r"(?:\d+> )?\+I\[(\d+), (\d+), ([^,]+), ([^,]+)\]")
"""A row that Flink prints, after the number of its task if there are several."""
SCHEMA: Final = {"key": pl.Int64(), "end": pl.Int64(), "value": pl.Int64()}


def run_on_flink(python: Path, load: Load, folder: Path, *, checkpoint: bool) -> Ran:
    """Runs a chain on Flink; it has emitted a window of earlier records before the others begin to arrive."""
    inputs = folder / "in"
    inputs.mkdir()
    early = load.arrivals()
    early.begin -= EARLIER
    # A reader of Flink that never had a file would hold the watermark.
    files = 4 * load.shards
    for number in range(files):
        _write(early.frame(number * load.rate, (number + 1) * load.rate), inputs / f"early-{number}.csv")
    settings = {
        "depth": load.depth,
        "parallelism": load.shards,
        "folder": str(inputs),
        "checkpoints": (folder / "checkpoint").as_uri() if checkpoint else None,
    }
    with (folder / "panes.txt").open("w") as printed, (folder / "flink.log").open("w") as log:
        process = subprocess.Popen(
            [python, PROGRAM, json.dumps(settings)],
            stdout=printed,
            stderr=log,
            start_new_session=True,
        )
    try:
        if not _await(lambda: bool(_panes(folder)), process, PATIENCE):
            raise RuntimeError(f"Flink emits nothing: {(folder / 'flink.log').read_text()[-2_000:]}")
        arrivals = load.arrivals()
        with arrivals.arriving(inputs, _write):
            arrivals.await_end()
        last = arrivals.begin + int((load.seconds - 1) * MICROS)
        _await(
            lambda: sum(_micros(end) > last for _, _, end, _ in _panes(folder)) >= KEYS, process, LAST_PANES
        )
    finally:
        kill_tree(process)
    return Ran(arrivals, _emitted(_panes(folder)), {})


Row: TypeAlias = tuple[int, int, str, str]


def _panes(folder: Path) -> list[Row]:
    """Returns the panes that have been printed."""
    lines = (folder / "panes.txt").read_text().split("\n")
    rows = [match.groups() for match in map(PANE.fullmatch, lines) if match is not None]
    return [(int(key), int(value), end, at) for key, value, end, at in rows]


def _await(condition: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits until a condition holds; returns false if the process ends, or the seconds pass, before it does."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until or process.poll() is not None:
            return False
        time.sleep(0.2)
    return True


def _emitted(panes: Iterable[Row]) -> list[Emitted]:
    """Returns panes by the time at which they were emitted."""
    by_time: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for key, value, end, at in panes:
        by_time[at].append((key, _micros(end), value))
    return [
        Emitted(0, _micros(at), pl.DataFrame(rows, schema=SCHEMA, orient="row"))
        for at, rows in by_time.items()
    ]


def _micros(text: str) -> int:
    """Returns a timestamp in UTC as microseconds since the epoch."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * MICROS)


def _write(frame: pl.DataFrame, path: Path) -> None:
    frame.select("number", pl.col("at").to_physical()).write_csv(path, include_header=False)
