"""A crash at every call: each call to the files and the database fails once, and the query goes on afterwards."""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, cast

import flowalg_polars.streaming.storage.checkpoint as checkpoints
import flowalg_sinks.databases.sqlite
from attrs import define, frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, StreamInput
from flowalg_polars.streaming.storage import file_log
from flowalg_sinks import SinkError

from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    FixedWindows,
    PCollection,
    Sum,
)
from flowalg.errors import CheckpointError, ElementError
from tests.faults.files import rows_of
from tests.faults.local import LocalTables
from tests.support.scores import NOON, SCORES

MINUTE: Final = timedelta(minutes=1)
TOTALS: Final = (
    SCORES.key_by(lambda s: s.team)
    .map_values(lambda s: s.points)
    .window(
        FixedWindows(MINUTE),
        trigger=AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=MINUTE,
    )
    .combine_per_key(Sum())
)
TABLES: Final = ("latest", "latest_drops", "log", "log_drops")
ROWS: Final = (
    (("a", 1, 0), ("b", 2, 10)),
    (("a", 3, 20), ("b", 4, 70)),
    (("a", 5, 200), ("c", 6, 190)),
    (("a", 7, 5), ("c", 8, 195)),
)
"""The team, points and second of each score in each file; the last file has a score that is too late."""

DIED: Final = 9
FAILED: Final = 3
_SECONDS: Final = 120
"""How long a process may take before it counts as one that hangs."""

WAYS: Final = ("die before", "die half-way", "die after", "EIO", "disk full", "Ctrl-C before", "Ctrl-C after")


@define
class Injector:
    """Counts the calls, and lets the one with a number fail in a way; without a way it only counts."""

    way: str | None = None
    number: int = -1
    count: int = 0

    def call(
        self, run: Callable[[], object], half: Callable[[], object] | None, disk: Callable[[int], Exception]
    ) -> object:
        """Makes a call, unless it is the one that fails. ``half`` does a part of it, if it has parts."""
        own, self.count = self.count == self.number, self.count + 1
        if not own:
            return run()
        match self.way:
            case "die after":
                run()
            case "die half-way" if half is not None:
                half()
            case "EIO":
                raise disk(errno.EIO)
            case "disk full":
                if half is not None:
                    half()
                raise disk(errno.ENOSPC)
            case "Ctrl-C before":
                raise KeyboardInterrupt
            case "Ctrl-C after":
                run()
                raise KeyboardInterrupt
            case _:
                pass
        os._exit(DIED)

    def install(self) -> None:
        """Replaces the calls of this process."""
        for name in ("open", "write", "fsync", "ftruncate", "replace", "mkdir", "unlink", "listdir"):
            _replace(os, name, partial(self._system, name, getattr(os, name)))
        _replace(io, "open", partial(self._system, "open", io.open))
        connect = sqlite3.connect
        connection = type(
            "Injected", (sqlite3.Connection,), {"execute": self._sql(), "executemany": self._sql_many()}
        )
        _replace(flowalg_sinks.databases.sqlite, "sqlite3", _Module(partial(connect, factory=connection)))

    def _system(
        self, name: str, function: Callable[..., object], *arguments: object, **options: object
    ) -> object:
        half = None
        if name == "write":
            payload = cast("memoryview", arguments[1])
            half = partial(function, arguments[0], payload[: len(payload) // 2])
        return self.call(
            partial(function, *arguments, **options),
            half,
            lambda number: OSError(number, os.strerror(number)),
        )

    def _sql(self) -> Callable[..., object]:
        def execute(connection: sqlite3.Connection, *arguments: object) -> object:
            run: Callable[..., object] = partial(sqlite3.Connection.execute, connection)
            return self.call(partial(run, *arguments), None, _sql_error)

        return execute

    def _sql_many(self) -> Callable[..., object]:
        def executemany(
            connection: sqlite3.Connection, statement: str, rows: Iterable[tuple[object, ...]]
        ) -> object:
            parameters = list(rows)
            run: Callable[..., object] = sqlite3.Connection.executemany
            many = partial(run, connection, statement)
            return self.call(
                partial(many, parameters), partial(many, parameters[: len(parameters) // 2]), _sql_error
            )

        return executemany


class _Module:
    """The module sqlite3 with another ``connect``."""

    def __init__(self, connect: Callable[..., object]) -> None:
        self.connect = connect

    def __getattr__(self, name: str) -> object:
        return getattr(sqlite3, name)


def _replace(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)


def _sql_error(number: int) -> Exception:
    text = "disk I/O error" if number == errno.EIO else "database or disk is full"
    return sqlite3.OperationalError(text)


@frozen
class Totals(LocalTables):
    """A run of the query over four files, to two tables."""

    @classmethod
    def create(cls, folder: Path) -> Totals:
        """Creates the files of the input."""
        (folder / "in").mkdir(parents=True)
        for number, rows in enumerate(ROWS):
            path = folder / "in" / f"{number}.jsonl"
            lines = [
                {"team": team, "points": points, "at": (NOON + timedelta(seconds=second)).isoformat()}
                for team, points, second in rows
            ]
            path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        return cls(folder)

    @property
    def pipeline(self) -> PCollection[object]:
        """The corrected totals."""
        return TOTALS

    def run(self) -> None:
        """Runs the query over all files to the end of its input."""
        streaming.run(
            TOTALS,
            {SCORES: StreamInput(Files(self.folder / "in", "jsonl"), BoundedOutOfOrderness(timedelta(0)))},
            sink=self.sinks,
            checkpoint=self.checkpoint,
            drain=True,
        )

    def content(self) -> list[str]:
        """Returns the rows of the four tables, without processing times, which are those of the run."""
        return rows_of(self.sinks, without="processing")


def in_process(trial: Totals, injector: Injector) -> tuple[int, str]:
    """Runs a query in a process of its own; returns its exit code, and what it printed or its number of calls."""
    output = trial.folder / "output"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(_SECONDS)
            _replace(checkpoints, "_SMALL", 0)  # all segments are files
            _replace(file_log, "_LATEST", 1)  # the log of files is a file
            injector.install()
            trial.run()
            output.write_text(json.dumps({"calls": injector.count, "modules": list(sys.modules)}))
            code = 0
        except (CheckpointError, ElementError, SinkError, KeyboardInterrupt) as error:
            injector.number = -1
            output.write_text(f"{type(error).__name__}: {error}")
            code = FAILED
        except BaseException:
            injector.number = -1
            output.write_text(traceback.format_exc())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), output.read_text() if output.exists() else ""


def crash(root: Path, way: str, number: int, expected: list[str]) -> str | None:
    """Returns what is wrong after a call has failed in a way; ``None`` if nothing is."""
    trial = Totals.create(root / f"{way}-{number}")
    code, output = in_process(trial, Injector(way, number))
    problem = None
    if code not in (0, DIED, FAILED) or (code == DIED and not way.startswith("die")):
        problem = f"the process ended with {code}: {output}"
    else:
        code, output = in_process(trial, Injector())
        if code != 0:
            problem = f"the restart ended with {code}: {output}"
        elif trial.content() != expected:
            problem = f"the tables differ: {sorted(set(trial.content()) ^ set(expected))}"
    shutil.rmtree(trial.folder)
    return problem


def check(stride: int = 1) -> int:
    """Runs a query of the local engine, with two sinks, once for each call and each way in which the call can fail.

    It runs in a process of its own, and then again without a failure. Its four tables must be those of an undisturbed
    query. Every ``stride``-th point is tried, and those that failed are printed. The last line is
    ``crash points: K of N``.
    """
    with tempfile.TemporaryDirectory() as folder:
        calm = Totals.create(Path(folder) / "calm")
        code, output = in_process(calm, Injector())
        assert code == 0, output
        done = json.loads(output)
        for module in done["modules"]:
            # The processes that follow find what they need, and this one starts no threads of Polars.
            with suppress(ImportError):
                importlib.import_module(module)
        calls, expected = int(done["calls"]), calm.content()
        assert {row.split()[1] for row in expected} == set(TABLES), expected
        points = [(way, number) for number in range(calls) for way in WAYS][::stride]
        return try_points(
            "crash points", "call", points, lambda way, number: crash(Path(folder), way, number, expected)
        )


def try_points(
    title: str, unit: str, points: Sequence[tuple[str, int]], attempt: Callable[[str, int], str | None]
) -> int:
    """Tries each way of failing at each number of a ``unit``; prints the problems and, last, how many had none."""
    failed = 0
    for way, number in points:
        problem = attempt(way, number)
        if problem is not None:
            failed += 1
            print(f"{way}, {unit} {number}: {problem}", flush=True)
    print(f"{title}: {len(points) - failed} of {len(points)}")
    return min(1, failed)
