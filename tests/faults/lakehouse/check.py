"""Delta and Iceberg with kills, bad input and the page, in environments of their own."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.components import java
from tests.faults.harness import Moment, QueryFailed, finish, kill
from tests.faults.lakehouse.environment import VERSIONS, python_of, variables
from tests.faults.lakehouse.query import BATCHES, LakehouseQuery, make_input
from tests.faults.subject import ROOT

BOTH: Final = "4.1"
"""The version of Spark for which both formats have jars."""

TESTS: Final = "tests/sinks/test_lakehouse.py"
SOMETIME: Final = Moment((0, 1), (1, 12))
"""After a micro-batch or two, at any moment of the next one."""


def check(kills: int = 4) -> int:
    """Runs queries to tables of Delta and Iceberg.

    It makes an environment for each version of Spark that the formats have jars for. In that of 4.1, a query from files
    to both formats is killed at random and restarted. Its final tables must be the reference's, and each version in
    their history must be what the query said in that micro-batch. Then the page runs, and the tests of bad input, in
    every environment. The last line is ``lakehouse: all held`` with the counts, or ``lakehouse: N problems`` with exit
    code 1.
    """
    if java.find(ROOT / ".java", Path("/usr/lib/jvm")) is None:
        print(f"lakehouse: not checked: Spark needs Java {java.NEEDED} or newer")
        return 1
    problems: list[str] = []
    done, counts, chance = 0, "", random.Random(3)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environment = variables(BOTH, folder / "warehouse")
        query = LakehouseQuery(folder / "query", python_of(BOTH), environment)
        make_input(query.folder)
        try:
            done = len(finish(query, [kill("kill", SOMETIME)] * kills, chance).struck)
            (counts,) = query.content()
        except QueryFailed as error:
            problems.append(str(error))
        print(f"kills: {done} in {BATCHES} micro-batches; {counts}", flush=True)
        page = run(BOTH, environment, "-m", "tests.faults.lakehouse.page")
        problems += [f"{page.stdout}{page.stderr[-4000:]}"] if page.returncode else []
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
