"""Show that faults change no result: ``make faults``.

A query from files to files is run undisturbed, and then again and again with faults: its whole process is killed at
random moments, a worker of Python in the middle of a task, a function of the user's raises half-way through a batch.
After each it is started again from its checkpoint. What its sink has in the end, sorted, must be what the undisturbed
run gave, byte for byte. A checkpoint that was damaged must be an error. Ends with ``faults: K survived of K``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl
import psutil
from attrs import define

from flowalg_development.faults import sinks
from flowalg_development.faults.query import make_input

KILLS: Final = 30
WORKERS: Final = 3
FAILURES: Final = 3
SINK_KILLS: Final = 12
SINK_DEATHS: Final = 6
QUERY: Final = "flowalg_development.faults.query"


def started(folder: Path) -> subprocess.Popen[bytes]:
    """The query, in a process group of its own."""
    with (folder / "query.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", QUERY, str(folder)], stdout=log, stderr=log, start_new_session=True
        )


def killed(query: subprocess.Popen[bytes]) -> None:
    """Kill the query and everything below it."""
    below = psutil.Process(query.pid).children(recursive=True)
    os.killpg(query.pid, signal.SIGKILL)
    for one in below:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    query.wait()
    psutil.wait_procs(below, timeout=30)


def python_workers(query: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes in which Spark runs Python for the query."""
    found = []
    try:
        for one in psutil.Process(query.pid).children(recursive=True):
            if "pyspark.daemon" in " ".join(one.cmdline()):
                found.append(one)
    except psutil.NoSuchProcess:
        return []
    # The first of them only starts the others.
    return found[1:]


def content(folder: Path) -> bytes:
    """What the sink has, in an order of its own: by Spark's log of the files that count, as any reader of it does."""
    log = folder / "out" / "_spark_metadata"
    names: set[str] = set()
    entries = sorted((one for one in log.iterdir() if not one.name.startswith(".")), key=_number)
    for entry in entries:
        if entry.name.endswith(".compact"):
            names = set()
        for line in entry.read_text().splitlines()[1:]:
            names.add(Path(json.loads(line)["path"]).name)
    tables = [pl.read_parquet(folder / "out" / name) for name in sorted(names)]
    whole = pl.concat(tables)
    lines = sorted(repr(row) for row in whole.rows())
    return "\n".join(lines).encode()


def _number(entry: Path) -> int:
    return int(entry.name.partition(".")[0])


@define
class Trial:
    """Runs of the query over one input, with faults, and what the undisturbed one gave."""

    root: Path
    expected: bytes = b""
    faults: int = 0
    survived: int = 0
    runs: int = 0

    def folder(self) -> Path:
        """A new place for a run from the beginning."""
        self.runs += 1
        found = self.root / f"run-{self.runs}"
        found.mkdir()
        os.symlink(self.root / "in", found / "in")
        return found

    def told(self, fault: str, count: int, *, survived: bool) -> None:
        """Count some faults of a kind, and say how they went."""
        self.faults += count
        self.survived += count if survived else 0
        print(f"{fault}: {count}, {'survived' if survived else 'NOT SURVIVED'}", flush=True)

    def same(self, folder: Path) -> bool:
        """Whether the sink has what it has undisturbed."""
        return content(folder) == self.expected


def undisturbed(trial: Trial) -> None:
    """The run that the others are held to."""
    folder = trial.folder()
    if started(folder).wait() != 0:
        raise RuntimeError((folder / "query.log").read_text()[-2000:])
    trial.expected = content(folder)
    print(f"undisturbed: {trial.expected.count(bytes([10])) + 1} rows", flush=True)


def kills(trial: Trial, wanted: int, dice: random.Random) -> None:
    """Kill the whole process at random moments; each replay that ends is compared."""
    done = 0
    while done < wanted:
        folder, here = trial.folder(), 0
        while True:
            query = started(folder)
            try:
                code = query.wait(dice.uniform(1, 12) if done + here < wanted else None)
            except subprocess.TimeoutExpired:
                killed(query)
                here += 1
                continue
            if code != 0:
                print((folder / "query.log").read_text()[-2000:])
                trial.told("SIGKILL of the whole process", max(here, 1), survived=False)
                return
            break
        done += here
        if here:
            trial.told("SIGKILL of the whole process", here, survived=trial.same(folder))
        shutil.rmtree(folder)


def restarted(trial: Trial, folder: Path) -> bool:
    """Whether the query, started again until it ends, gives the same; it may fail a few times on the way."""
    for _ in range(5):
        if started(folder).wait() == 0:
            return trial.same(folder)
    print((folder / "query.log").read_text()[-2000:])
    return False


def worker_kills(trial: Trial, wanted: int, dice: random.Random) -> None:
    """Kill a worker of Python in the middle of a task. A run that has ended before does not count."""
    done = 0
    while done < wanted:
        folder = trial.folder()
        query = started(folder)
        if _hit(query, dice.uniform(0, 4), dice):
            done += 1
            ended = query.wait() == 0
            same = trial.same(folder) if ended else restarted(trial, folder)
            trial.told("SIGKILL of a Python worker", 1, survived=same)
        query.wait()
        shutil.rmtree(folder)


def _hit(query: subprocess.Popen[bytes], pause: float, dice: random.Random) -> bool:
    """Whether some worker could be killed, a while after the first of them was there."""
    while query.poll() is None and not python_workers(query):
        time.sleep(0.05)
    time.sleep(pause)
    while query.poll() is None:
        try:
            dice.choice(python_workers(query)).kill()
        except (IndexError, psutil.NoSuchProcess):
            time.sleep(0.05)
        else:
            return True
    return False


def failures(trial: Trial, wanted: int, dice: random.Random) -> None:
    """A function of the user's raises in the middle of a batch, and does not when the query is started again."""
    for _ in range(wanted):
        folder = trial.folder()
        query = started(folder)
        time.sleep(dice.uniform(0, 9))
        (folder / "fail").touch()
        failed = query.wait() != 0
        raised = "a function of the user's has failed" in (folder / "query.log").read_text()
        survived = (failed and raised and restarted(trial, folder)) if failed else trial.same(folder)
        trial.told("a function that raises half-way", 1, survived=survived)
        shutil.rmtree(folder)


def half_way(trial: Trial) -> Path:
    """A run that was killed after some batches."""
    folder = trial.folder()
    query = started(folder)
    commits = folder / "checkpoint" / "commits"
    while query.poll() is None and (not commits.exists() or len(list(commits.glob("[0-9]*"))) < 8):
        time.sleep(0.05)
    killed(query)
    return folder


def damages(trial: Trial) -> Iterator[tuple[str, Path]]:
    """Checkpoints that were damaged, each in another way."""
    folder = half_way(trial)
    for file in _state_files(folder):
        _spoil(file)
    yield "state that was spoilt", folder
    folder = half_way(trial)
    for file in _state_files(folder):
        file.unlink()
    yield "state that is gone", folder
    for what, place in _LOGS.items():
        folder = half_way(trial)
        _cut_off(folder / "checkpoint" / place)
        yield f"{what} that was cut off", folder


_LOGS: Final = {
    "an offset log": "offsets",
    "a log of commits": "commits",
    "a log of files": "sources/0",
    "a query's id": "metadata",
}


def _cut_off(log: Path) -> None:
    """Keep ten bytes of the last file of a log, and forget its checksum, so that only who reads it can tell."""
    last = log if log.is_file() else max(log.glob("[0-9]*"), key=_number)
    last.write_bytes(last.read_bytes()[:10])
    _forget_checksum(last)


def complaint(log: str) -> str | None:
    """What a query that has failed says of its checkpoint: the error of ours, or of Spark's, that names it."""
    words = ("is damaged", "CANNOT_LOAD_STATE_STORE")
    errors = [line.strip() for line in log.splitlines() if _ERROR.search(line)]
    return next((line[:300] for line in reversed(errors) if any(word in line for word in words)), None)


_ERROR: Final = re.compile(r"(Error|Exception|\[[A-Z_]+(\.[A-Z_]+)*\])")


def _state_files(folder: Path) -> list[Path]:
    """What Spark has written of the state: changes, and snapshots."""
    state = folder / "checkpoint" / "state"
    return [*state.rglob("*.changelog"), *state.rglob("*.zip")]


def _spoil(file: Path) -> None:
    """Change some bytes in the middle of a file, and forget its checksum, so that only who reads it can tell."""
    payload = bytearray(file.read_bytes())
    middle = len(payload) // 2
    payload[middle : middle + 64] = bytes(255 - one for one in payload[middle : middle + 64])
    file.write_bytes(bytes(payload))
    _forget_checksum(file)


def _forget_checksum(file: Path) -> None:
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Try all faults, and sum up."""
    parser = argparse.ArgumentParser(prog="python -m flowalg_development.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}")
    dice = random.Random(given.seed)
    with TemporaryDirectory() as scratch:
        trial = Trial(Path(scratch))
        make_input(trial.root / "in")
        undisturbed(trial)
        kills(trial, given.kills, dice)
        for one in sinks.kills(trial.root, trial.root / "in", SINK_KILLS, SINK_DEATHS, dice, killed):
            trial.told(one.fault, one.count, survived=one.survived)
        worker_kills(trial, WORKERS, dice)
        failures(trial, FAILURES, dice)
        for damage, folder in damages(trial):
            (folder / "query.log").unlink()
            code = started(folder).wait()
            said = complaint((folder / "query.log").read_text())
            survived = trial.same(folder) if code == 0 else said is not None
            print(f"    {'it was not needed' if code == 0 else f'it says: {said}'}")
            trial.told(damage, 1, survived=survived)
    print(f"faults: {trial.survived} survived of {trial.faults}")
    return 0 if trial.survived == trial.faults else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
