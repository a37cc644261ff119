"""Delta and Iceberg with kills, bad input and the page: ``make lakehouse-check``.

It makes an environment for each version of Spark that the formats have jars for. In that of 4.1, a query from files to
both formats is killed at random and restarted. Its final tables must be the reference's, and each version in their
history must be what the query said in that micro-batch. Then the page runs, and the tests of bad input, in every
environment. The last line is ``lakehouse: all held`` with the counts, or ``lakehouse: N problems`` with exit code 1.
``python -m tests.faults.lakehouse [KILLS]``.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.components import java
from tests.components.processes import kill_tree
from tests.faults.lakehouse.environment import ROOT, VERSIONS, python_of, variables
from tests.faults.lakehouse.query import BATCHES, make_input
from tests.faults.progress import count_commits, wait_for_commits

BOTH: Final = "4.1"
"""The version of Spark for which both formats have jars."""

TESTS: Final = "tests/sinks/test_lakehouse.py"


def main(kills: int = 4) -> int:
    """Runs all checks and prints a summary."""
    if java.find(ROOT / ".java", Path("/usr/lib/jvm")) is None:
        print(f"lakehouse: not checked: Spark needs Java {java.NEEDED} or newer")
        return 1
    problems: list[str] = []
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environment = variables(BOTH, folder / "warehouse")
        done, counts, different = kill(folder / "query", environment, kills)
        print(f"kills: {done} in {BATCHES} micro-batches; {counts}", flush=True)
        problems += different
        problems += ended(BOTH, environment, "-m", "tests.faults.lakehouse.page")
        print("page: docs/lakehouse.md has run", flush=True)
        tests: list[str] = []
        for version in VERSIONS:
            environment = variables(version, folder / f"warehouse-{version}")
            chosen = ["-k", "not stream"] if version == BOTH else ["-k", "not iceberg"]
            command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS, *chosen)
            result = run(version, environment, *command)
            passed = re.search(r"(\d+) passed", result.stdout)
            tests.append(f"{passed[1] if passed else 'no'} tests on Spark {version}")
            print(f"tests: {tests[-1]}", flush=True)
            if result.returncode != 0 or passed is None:
                problems.append(f"the tests on Spark {version} failed:\n{result.stdout[-4000:]}")
    for problem in problems:
        print(f"  {problem}")
    if problems:
        print(f"lakehouse: {len(problems)} problems")
        return 1
    print(f"lakehouse: all held: {done} kills; {counts}; the page; {', '.join(tests)}")
    return 0


def run(version: str, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the Python of an environment."""
    command = [str(python_of(version)), *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def ended(version: str, environment: Mapping[str, str], *arguments: str) -> list[str]:
    """Runs the Python of an environment; returns its output as a problem if it fails."""
    result = run(version, environment, *arguments)
    return [] if result.returncode == 0 else [f"{result.stdout}{result.stderr[-4000:]}"]


def kill(folder: Path, environment: Mapping[str, str], kills: int) -> tuple[int, str, list[str]]:
    """Kills the query until its end; returns the number of kills, the counts, and the differences."""
    folder.mkdir()
    make_input(folder)
    chance = random.Random(3)
    query = [str(python_of(BOTH)), "-m", "tests.faults.lakehouse.query", str(folder)]
    done = 0
    while True:
        with (folder / "query.log").open("ab") as log:
            process = subprocess.Popen(
                query, env=environment, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )
        try:
            if done < kills and count_commits(folder) < BATCHES:
                # After a micro-batch or two, at any moment of the next one.
                wait_for_commits(process, folder, chance.choice((0, 1)))
                process.wait(chance.uniform(1, 12))
            code = process.wait()
        except subprocess.TimeoutExpired:
            done += 1
            continue
        finally:
            if process.poll() is None:
                kill_tree(process)
        if code != 0:
            return (
                done,
                "",
                [f"the query failed after {done} kills: {(folder / 'query.log').read_text()[-3000:]}"],
            )
        break
    result = run(BOTH, environment, *query[1:], "compare")
    if result.returncode != 0:
        return done, "", [f"{result.stdout}{result.stderr[-3000:]}"]
    return done, result.stdout.strip(), []


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
