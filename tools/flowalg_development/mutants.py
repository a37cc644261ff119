"""Show that the tests notice faults: make one fault at a time in a copy of the tree, and run the fast tests on it.

``python -m flowalg_development.mutants [words]`` tries those mutants whose area or fault has one of the words
in it, or all. A mutant is killed when a test fails, or when the tests do not end in time; one that cannot even be
imported is invalid. Exits with 1 if a mutant survives that nobody has explained, or is invalid.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Final

from attrs import frozen

from flowalg_development.mutations import Area, Mutant, areas
from flowalg_development.mutations.killer import KINDS, VARIABLE
from flowalg_development.mutations.mutant import Sources, sources_under

ROOT: Final = Path(__file__).resolve().parents[2]
COPIED: Final = (
    "flowalg",
    "interpreters",
    "laws",
    "tests",
    "docs",
    "tools",
    "pyproject.toml",
    "Makefile",
    "README.md",
)
SOURCES: Final = ("", "interpreters", "laws", "tools", "docs/examples")
WORKERS: Final = 2
OPERATORS: Final = 60
PATIENCE: Final = 3
"""How many times as long as without a fault the tests of an area may take, before they count as stuck."""


@frozen
class Outcome:
    """What became of a mutant: killed by a kind of test (or by the clock), survived, or invalid."""

    area: str
    mutant: Mutant
    kind: str
    by: str
    seconds: float

    @property
    def counts(self) -> bool:
        """Whether it is a fault at all: not if it is explained why no test can see it."""
        return not self.mutant.why_it_survives

    @property
    def killed(self) -> bool:
        """Whether a test failed."""
        return self.kind in (*KINDS, "clock")

    def __str__(self) -> str:
        what = {"clock": "killed by the clock", "survived": "SURVIVED", "invalid": "INVALID"}
        became = what.get(self.kind, f"killed by {self.by}")
        return f"{self.area}: {self.mutant.fault}\n    {became}, {self.seconds:.1f} s"


@frozen
class Copy:
    """A copy of the tree, in which mutants are tried one after another."""

    root: Path

    @classmethod
    def made(cls, root: Path) -> Copy:
        """A copy with compiled modules that are checked by content: a mutant may be as long and as old as its file."""
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
        """Whether tests in the copy import the copy, and not the tree that is installed."""
        code = "import flowalg, flowalg_laws, flowalg_reference\n"
        code += "for one in (flowalg, flowalg_laws, flowalg_reference): print(one.__file__)"
        printed = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.root,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        return all(Path(one).is_relative_to(self.root) for one in printed)

    def tried(self, area: Area, mutant: Mutant, seconds: float) -> Outcome:
        """What the tests of an area make of a mutant."""
        began = time.monotonic()
        mutation = mutant.apply(sources())
        file = self.root / mutation.file
        sound = file.read_text()
        file.write_text(mutation.text)
        try:
            kind, by = self.tested(area.tests, seconds)
        finally:
            file.write_text(sound)
        return Outcome(area.name, mutant, kind, by, time.monotonic() - began)

    def tested(self, tests: Sequence[str], seconds: float | None = None) -> tuple[str, str]:
        """What kind of test fails first, and which one; or that none does, or that they cannot even be run."""
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
            "flowalg_development.mutations.killer",
        ]
        files = [str(one) for name in tests for one in (self.root / "tests").rglob(f"test_{name}.py")]
        command = [sys.executable, "-m", "pytest", *options, "-m", "not spark", *files]
        environment = {**self._environment(), VARIABLE: str(killer)}
        try:
            done = subprocess.run(
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
            if done.returncode == 0
            else ("invalid", done.stdout[-2000:] + done.stderr[-2000:])
        )

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(self.root / one) for one in SOURCES),
            "PYTHONDONTWRITEBYTECODE": "1",
            "FLOWALG_PROFILE": "mutants",
        }


@cache
def sources() -> Sources:
    """The modules of the packages."""
    return sources_under(ROOT)


def chosen(words: Sequence[str]) -> list[tuple[Area, Mutant]]:
    """The mutants to try, each with its area."""
    every = [(area, mutant) for area in areas(sources(), OPERATORS) for mutant in area.mutants]
    return [
        (area, one)
        for area, one in every
        if not words or any(word in f"{area.name}: {one.fault}" for word in words)
    ]


def outcomes(
    mutants: Sequence[tuple[Area, Mutant]], copies: Sequence[Copy], patience: Mapping[tuple[str, ...], float]
) -> Iterator[Outcome]:
    """What became of each, in order; as many at a time as there are copies. Some tests may take so many seconds."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def tried(one: tuple[Area, Mutant]) -> Outcome:
        copy = free.get()
        try:
            area, mutant = one
            return copy.tried(area, mutant, patience[area.tests])
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(tried, mutants)


def report(found: Sequence[Outcome]) -> bool:
    """Print what came of all; tells whether every fault was noticed."""
    counted = [one for one in found if one.counts]
    bad = [one for one in counted if not one.killed]
    killed = Counter(one.kind for one in counted if one.killed)
    for one in bad:
        print(f"{one}\n{one.by}" if one.kind == "invalid" else one)
    for one in found:
        if not one.counts:
            stays = "survives" if one.kind == "survived" else f"WAS {one}"
            print(
                f"{one.area}: {one.mutant.fault}\n    {stays}, and is not counted: {one.mutant.why_it_survives}"
            )
    kinds = ", ".join(f"{killed[kind]} by {name}" for kind, name in _NAMES.items() if killed[kind])
    print(f"killed first: {kinds or 'none'}")
    print(f"mutants: {killed.total()} killed of {len(counted)}")
    return not bad


_NAMES: Final = {"law": "laws", "property": "other properties", "example": "examples", "clock": "the clock"}


def main(words: Sequence[str]) -> int:
    """Try the mutants, and say what survived."""
    mutants = chosen(words)
    with TemporaryDirectory(prefix="mutants") as folder:
        copies = [Copy.made(Path(folder).resolve() / str(number)) for number in range(WORKERS)]
        patience: dict[tuple[str, ...], float] = {}
        for tests in sorted({area.tests for area, _ in mutants}):
            began = time.monotonic()
            kind, by = copies[0].tested(tests)
            if not copies[0].imports_itself() or kind != "survived":
                print(f"mutants: the tests fail without any fault\n{by}", file=sys.stderr)
                return 2
            patience[tests] = PATIENCE * (time.monotonic() - began) + 60
        found: list[Outcome] = []
        for one in outcomes(mutants, copies, patience):
            found.append(one)
            print(f"{len(found)}/{len(mutants)} {one}", flush=True)
    return 0 if report(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
