"""Mutation testing: runs the fast tests on a copy of the tree with one deliberate fault at a time.

``python -m tests.mutations [words]`` tests the mutants whose area, fault or law contains one of the words, or all. A
mutant is killed if a test fails or if the tests take too long. It is invalid if it cannot be imported. The exit code is
1 if a mutant is invalid or survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from attrs import frozen

from tests.mutations import AREAS
from tests.mutations.killer import KINDS, VARIABLE
from tests.mutations.mutant import Area, Mutant, sources_under

ROOT: Final = Path(__file__).resolve().parents[2]
COPIED: Final = (
    "flowalg",
    "interpreters",
    "laws",
    "tests",
    "docs",
    "pyproject.toml",
    "Makefile",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
)
SOURCES: Final = ("", "interpreters", "laws", "docs/examples")
WORKERS: Final = 2
A = TypeVar("A")
B = TypeVar("B")
PATIENCE: Final = 3
"""The tests of an area are stopped when they take this many times as long as without a fault."""


@frozen
class Outcome:
    """The outcome of a mutant: killed by a kind of test (or by the clock), survived, or invalid."""

    area: str
    mutant: Mutant
    kind: str
    by: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether a test failed."""
        return self.kind in (*KINDS, "clock")

    def __str__(self) -> str:
        results = {"clock": "killed by the clock", "survived": "SURVIVED", "invalid": "INVALID"}
        result = results.get(self.kind, f"killed by {self.by}")
        return f"{self.area}: {self.mutant.fault}\n    breaks {self.mutant.breaks}\n    {result}, {self.seconds:.1f} s"


@frozen
class Copy:
    """A copy of the tree, in which mutants are tested one after another."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> Copy:
        """Copies the tree and compiles it.

        Compiled modules are verified by content, since a mutant may have the size and the time of its file.
        """
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, root / name)
        compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "."]
        subprocess.run(compiling, cwd=root, check=True)
        return cls(root)

    def imports_itself(self) -> bool:
        """Whether tests in the copy import the modules of the copy, and not the installed modules."""
        code = "import flowalg, flowalg_laws, flowalg_reference\n"
        code += "for module in (flowalg, flowalg_laws, flowalg_reference): print(module.__file__)"
        printed = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.root,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        return all(Path(file).is_relative_to(self.root) for file in printed)

    def test_mutant(self, area: Area, mutant: Mutant, seconds: float) -> Outcome:
        """Runs the tests of an area on a mutant."""
        start = time.monotonic()
        mutation = mutant.apply(sources_under(self.root))
        file = self.root / mutation.file
        original = file.read_text()
        file.write_text(mutation.text)
        try:
            kind, by = self.run_tests(area.tests, seconds)
        finally:
            file.write_text(original)
        return Outcome(area.name, mutant, kind, by, time.monotonic() - start)

    def run_tests(self, tests: Sequence[str], seconds: float | None = None) -> tuple[str, str]:
        """Runs tests until the first failure, and returns its kind and the name of the test.

        The kind is ``survived`` if all tests pass, ``clock`` if they take too long, and ``invalid`` if they cannot run.
        """
        killer = self.root / "killer.txt"
        killer.unlink(missing_ok=True)
        options = [
            "-q",
            "-x",
            "--tb=line",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "-p",
            "tests.mutations.killer",
        ]
        files = [str(file) for name in tests for file in (self.root / "tests").rglob(f"test_{name}.py")]
        command = [sys.executable, "-m", "pytest", *options, "-m", "not spark", *files]
        environment = {**self._environment(), VARIABLE: str(killer)}
        try:
            finished = subprocess.run(
                command,
                cwd=self.root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "clock", ""
        if killer.exists():
            kind, _, by = killer.read_text().partition("\t")
            return kind, by
        return (
            ("survived", "")
            if finished.returncode == 0
            else ("invalid", finished.stdout[-2000:] + finished.stderr[-2000:])
        )

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(self.root / folder) for folder in SOURCES),
            "PYTHONDONTWRITEBYTECODE": "1",
            "FLOWALG_PROFILE": "mutants",
        }


def select_mutants(words: Sequence[str]) -> list[tuple[Area, Mutant]]:
    """Returns the mutants to test, each with its area."""
    return [
        (area, mutant)
        for area in AREAS
        for mutant in area.mutants
        if not words or any(word in f"{area.name}: {mutant.fault}, {mutant.breaks}" for word in words)
    ]


def on_copies(copies: Sequence[Copy], work: Callable[[Copy, A], B], items: Iterable[A]) -> Iterator[B]:
    """Yields the result of each item, in order; each copy of the tree works on one item at a time."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def work_on(item: A) -> B:
        copy = free.get()
        try:
            return work(copy, item)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(work_on, items)


def seconds_of(copy: Copy, name: str) -> float:
    """Returns how long the tests of a name take without a fault; raises ``RuntimeError`` if they fail."""
    start = time.monotonic()
    kind, by = copy.run_tests([name])
    if kind != "survived" or not copy.imports_itself():
        raise RuntimeError(f"the tests of {name} fail without a fault\n{by}")
    return time.monotonic() - start


def report(results: Sequence[Outcome]) -> bool:
    """Prints a summary of all outcomes, and returns whether every fault was detected."""
    missed = [outcome for outcome in results if not outcome.killed]
    killed = Counter(outcome.kind for outcome in results if outcome.killed)
    for outcome in missed:
        print(f"{outcome}\n{outcome.by}" if outcome.kind == "invalid" else outcome)
    kinds = ", ".join(f"{killed[kind]} by {name}" for kind, name in _NAMES.items() if killed[kind])
    print(f"killed first: {kinds or 'none'}")
    print(f"mutants: {killed.total()} killed of {len(results)}")
    return not missed


_NAMES: Final = {"law": "laws", "property": "other properties", "example": "examples", "clock": "the clock"}


def main(words: Sequence[str]) -> int:
    """Tests the selected mutants and prints a summary."""
    mutants = select_mutants(words)
    with TemporaryDirectory(prefix="mutants") as folder:
        copies = [Copy.create(Path(folder).resolve() / str(number)) for number in range(WORKERS)]
        names = sorted({name for area, _ in mutants for name in area.tests})
        try:
            seconds = dict(zip(names, on_copies(copies, seconds_of, names), strict=True))
        except RuntimeError as error:
            print(f"mutants: {error}", file=sys.stderr)
            return 2

        def test_mutant(copy: Copy, item: tuple[Area, Mutant]) -> Outcome:
            area, mutant = item
            return copy.test_mutant(area, mutant, 60 + PATIENCE * sum(map(seconds.__getitem__, area.tests)))

        results: list[Outcome] = []
        for outcome in on_copies(copies, test_mutant, mutants):
            results.append(outcome)
            print(f"{len(results)}/{len(mutants)} {outcome}", flush=True)
    return 0 if report(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
