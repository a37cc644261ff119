"""Flink runs the same chain, by its SQL, in an environment and processes of its own."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Final, TypeAlias

import polars as pl
from flowalg_development.components.processes import kill_tree

from docs.benchmarks.arrivals import MICROS
from docs.benchmarks.depth.chains import KEYS, Emitted, Ran
from docs.benchmarks.depth.engines import EARLIER, Load

FLINK: Final = "Flink"
FLINK_CHECKPOINTED: Final = "Flink, a checkpoint each second"
PROGRAM: Final = Path(__file__).parent / "programs" / "flink_chain.py"
PATIENCE: Final = 120
"""The seconds after which a run is given up, more than its records take."""
LAST_PANES: Final = 10
"""The seconds after the last record in which its panes must be there; a window that lost records never has all."""
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
    with (folder / "flink.log").open("w") as log:
        process = subprocess.Popen(
            [python, PROGRAM, json.dumps(settings)],
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert process.stdout is not None
    late = _killed_after(PATIENCE + load.seconds, process)
    try:
        lines = iter(process.stdout)
        if not next(lines, b""):
            raise RuntimeError(f"Flink ended: {(folder / 'flink.log').read_text()[-2_000:]}")
        arrivals = load.arrivals()
        with arrivals.arriving(inputs, _write):
            arrivals.await_end()
        late.cancel()
        late = _killed_after(LAST_PANES, process)
        panes = list(_until(lines, arrivals.begin + int((load.seconds - 1) * MICROS)))
    finally:
        late.cancel()
        kill_tree(process)
        process.wait()
    return Ran(arrivals, _emitted(panes), {})


def _killed_after(seconds: float, process: subprocess.Popen[bytes]) -> Timer:
    """Starts a timer that kills a process."""
    timer = Timer(seconds, kill_tree, [process])
    timer.start()
    return timer


Row: TypeAlias = tuple[int, int, str, str]


def _until(lines: Iterable[bytes], time: int) -> Iterator[Row]:
    """Yields panes until those of a window that ends after a time are complete, or the process ends."""
    complete = 0
    for line in lines:
        row: Row = tuple(json.loads(line))
        yield row
        complete += _micros(row[2]) > time
        if complete == KEYS:
            return


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


__all__ = ["FLINK", "FLINK_CHECKPOINTED", "run_on_flink"]
