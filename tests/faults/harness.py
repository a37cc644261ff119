"""The loop of all checks: a query runs to the end of its input, and goes on from its checkpoint after each fault."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from signal import SIGKILL
from subprocess import TimeoutExpired
from typing import Final

from attrs import define, field, frozen

from tests.components.processes import kill_tree
from tests.faults.subject import Process, Subject

LONGEST: Final = 900.0
"""The seconds after which a process counts as one that hangs."""


class QueryFailed(RuntimeError):
    """A query has ended with an error that no fault explains."""


Strike = Callable[[Subject, Process, random.Random], bool]
"""Waits for its moment and strikes a running query; returns whether it did, since the query may have ended before."""


@frozen
class Fault:
    """A kind of fault, and how it strikes.

    A query that ends by it must have ``reason`` in its log, and starts again. Of these starts, ``failures`` may fail.
    """

    name: str
    strike: Strike
    reason: str = ""
    failures: int = 0


@frozen
class Finished:
    """How a query was run to its end: the faults that struck it, its starts, and the seconds of the last one."""

    struck: Sequence[Fault]
    starts: int
    seconds: float


def finish(subject: Subject, faults: Sequence[Fault], chance: random.Random) -> Finished:
    """Runs a query to the end of its input. The faults strike it one after another, unless it ends before.

    Raises ``QueryFailed`` if it ends with an error that no fault explains.
    """
    done = failures = 0
    for starts in count(1):
        started, before = time.monotonic(), done
        process = subject.start()
        try:
            while done < len(faults) and process.poll() is None:
                if not faults[done].strike(subject, process, chance):
                    break
                done += 1
            code = process.wait(LONGEST)
        except TimeoutExpired:
            code = None
        finally:
            kill_tree(process)
        if code == 0:
            return Finished(faults[:done], starts, time.monotonic() - started)
        failures += done == before
        last = faults[done - 1] if done else None
        if last is None or code is None or failures > last.failures or last.reason not in subject.log:
            raise QueryFailed(f"{subject.folder}: {code} after {done} faults\n{subject.log[-3000:]}")
    raise AssertionError("the count does not end")


@frozen
class Moment:
    """A random moment of a running query: after so many further micro-batches have begun, and then some seconds."""

    batches: tuple[int, int] = (0, 0)
    seconds: tuple[float, float] = (0.0, 0.0)

    def wait(self, subject: Subject, process: Process, chance: random.Random) -> bool:
        """Waits for the moment; returns whether the query still runs."""
        wanted = subject.begun() + chance.randint(*self.batches)
        while process.poll() is None and subject.begun() < wanted:
            time.sleep(0.02)
        try:
            process.wait(chance.uniform(*self.seconds))
        except TimeoutExpired:
            return True
        return False


def kill(name: str, moment: Moment) -> Fault:
    """Returns a SIGKILL of the whole query at some moment."""

    def strike(subject: Subject, process: Process, chance: random.Random) -> bool:
        if not moment.wait(subject, process, chance):
            return False
        kill_tree(process)
        return process.returncode == -SIGKILL

    return Fault(name, strike)


@define
class Tally:
    """Counts faults, and those that changed nothing."""

    faults: int = 0
    survived: int = 0
    kinds: Counter[str] = field(factory=Counter)

    def record(self, faults: Sequence[str], *, survived: bool, of: str = "") -> None:
        """Counts the faults of a run, by their names, and prints whether the query survived them."""
        for name, number in Counter(faults).items():
            self.kinds[name] += number
            self.faults += number
            self.survived += number if survived else 0
            outcome = "survived" if survived else "NOT SURVIVED"
            print(f"{name}{of and f', {of}'}: {number}, {outcome}", flush=True)

    def report(self, name: str) -> int:
        """Prints the last line of a check; returns its exit code."""
        print(f"{name}: {self.survived} survived of {self.faults}")
        return 0 if self.survived == self.faults else 1
