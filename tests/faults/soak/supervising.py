"""A query that is killed and started again, and what it needs meanwhile: memory, and the progress that it reports."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from subprocess import TimeoutExpired

import psutil
from attrs import define, evolve, field, frozen

from tests.components.processes import children_of, kill_tree
from tests.faults.soak.query import SoakQuery
from tests.faults.subject import Process


@frozen
class Sample:
    """The memory of a query's processes at a time: seconds since the beginning, and megabytes."""

    seconds: float
    megabytes: float


@define(eq=False)
class Supervised:
    """A query that is started again and again. ``begun`` is the beginning, of ``time.monotonic``."""

    query: SoakQuery
    begun: float
    samples: list[Sample] = field(factory=list)
    kills: list[float] = field(factory=list)
    failures: list[str] = field(factory=list)
    _process: Process | None = None

    def start(self, *, ends: bool = False) -> None:
        """Starts the query."""
        self._process = evolve(self.query, ends=ends).start()

    def stop(self) -> None:
        """Stops the query with all its processes."""
        if self._process is not None:
            kill_tree(self._process)
            self._process = None

    def kill(self) -> None:
        """Kills the query, and starts it again."""
        self.stop()
        self.kills.append(time.monotonic() - self.begun)
        self.start()

    def watch(self) -> None:
        """Takes a sample; a query that has ended by itself is a failure, and is started again."""
        process = self._process
        if process is None:
            return
        if process.poll() is not None:
            self.failures.append(
                f"{self.query.name} has ended with {process.returncode}: {self.query.log[-2000:]}"
            )
            self.start()
            return
        self.samples.append(Sample(time.monotonic() - self.begun, memory_of(process)))

    def finish(self, timeout: float) -> None:
        """Runs the query to the end of its input."""
        self.stop()
        self.start(ends=True)
        process = self._process
        assert process is not None
        try:
            code = process.wait(timeout)
        except TimeoutExpired:
            code = None
        if code != 0:
            self.failures.append(f"the end of {self.query.name}: {code}: {self.query.log[-2000:]}")
        kill_tree(process)

    def progress(self) -> list[Mapping[str, object]]:
        """Returns the lines of progress of all micro-batches."""
        path = self.query.folder / "progress"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in map(_parsed, lines) if line.get("event") == "advanced"]


def _parsed(line: str) -> Mapping[str, object]:
    try:
        parsed: Mapping[str, object] = json.loads(line)
    except ValueError:
        return {}  # a killed process may leave half a line
    return parsed


def memory_of(process: Process) -> float:
    """Returns the megabytes of a process and its children; memory that they share counts once."""
    total = 0
    for member in [psutil.Process(process.pid), *children_of(process)]:
        try:
            total += member.memory_full_info().pss
        except psutil.Error:
            continue  # it has ended since
    return total / 2**20
