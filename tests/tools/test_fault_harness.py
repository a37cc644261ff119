"""The loop of the checks with faults: it must see a query that fails, also one that fails only after a fault.

The tests catch a harness that takes an error of a query for the effect of a fault.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from attrs import frozen

from tests.faults.harness import Fault, Moment, QueryFailed, Tally, finish, kill
from tests.faults.subject import Process, Subject

KILL = kill("kill", Moment((1, 1), (1, 1)))


@frozen
class Starts(Subject):
    """A query that only counts its starts. It waits in the first ``waits`` of them, and fails in one of them."""

    waits: int = 0
    fails: int | None = None

    def run(self) -> None:
        """Adds a micro-batch to the log of offsets."""
        log = self.checkpoint / "offsets"
        log.mkdir(parents=True, exist_ok=True)
        start = len(list(log.iterdir()))
        (log / str(start)).touch()
        if start == self.fails:
            raise RuntimeError("it fails")
        if start < self.waits:
            time.sleep(60)


@pytest.mark.long
def test_a_query_is_killed_and_goes_on(tmp_path: Path) -> None:
    """Faults strike one after another; a query that ends before a fault has fewer."""
    finished = finish(Starts(tmp_path, waits=2), [KILL] * 3, random.Random(1))
    assert (len(finished.struck), finished.starts) == (2, 3)


@pytest.mark.long
@pytest.mark.parametrize(("waits", "fails"), [(0, 0), (1, 1)])
def test_an_error_that_no_fault_explains_is_seen(tmp_path: Path, waits: int, fails: int) -> None:
    """A query that fails by itself, or at the start after a kill, has failed, with the end of its log."""
    with pytest.raises(QueryFailed, match="it fails"):
        finish(Starts(tmp_path, waits, fails), [KILL], random.Random(1))


@pytest.mark.long
@pytest.mark.parametrize("reason", ["it fails", "something else"])
def test_a_query_may_fail_by_a_fault_for_its_reason_only(tmp_path: Path, reason: str) -> None:
    """A query that ends by a fault, rather than by a kill, must have its reason in the log."""

    def strike(subject: Subject, process: Process, chance: random.Random) -> bool:
        return True

    faults = [Fault("raise", strike, reason)]
    if reason == "it fails":
        assert finish(Starts(tmp_path, fails=0), faults, random.Random(1)).starts == 2
    else:
        with pytest.raises(QueryFailed):
            finish(Starts(tmp_path, fails=0), faults, random.Random(1))


def test_a_tally_counts_what_did_not_survive(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line has both numbers, and the exit code is 1 unless they are equal."""
    tally = Tally()
    tally.record(["kill", "kill"], survived=True)
    assert tally.report("faults") == 0
    tally.record(["damage"], survived=False)
    assert tally.report("faults") == 1
    assert capsys.readouterr().out.splitlines()[-1] == "faults: 2 survived of 3"
