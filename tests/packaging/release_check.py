"""Builds the release and tries it in clean environments, with each extra, on each supported Python of the machine.

``python -m tests.packaging.release_check`` compares the version with the changelog, builds the sdist, and the wheel
from it, into ``dist``, and checks both with twine. Then it installs the sdist, the wheel, and the wheel with each extra
in environments of their own, and runs a small program in each. ``--python 3.12`` and ``--extra polars`` restrict it.
The last line is ``release-check: all held`` with the counts, and names the versions for which there is no interpreter.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
"""The supported versions."""

COMPILED: Final = {("3.14", "sketches"): "datasketches has no wheel for it"}
"""The versions and extras for which pip compiles a dependency, so that they are not tried."""

PLAIN: Final = """
from datetime import UTC, datetime, timedelta
import flowalg_reference as reference
from attrs import frozen
from flowalg import FixedWindows, Source, Sum, Timeline, to_json

@frozen
class Score:
    team: str
    points: int
    at: datetime

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SCORES = Source("scores", Score, event_time=lambda s: s.at)
keyed = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points)
totals = keyed.window(FixedWindows(timedelta(minutes=1))).combine_per_key(Sum())
timeline = Timeline().at(NOON, Score("a", 1, NOON), Score("a", 2, NOON)).end(NOON + timedelta(hours=1))
assert [pane.value for pane in reference.run(totals, {SCORES: timeline}).panes] == [3]
"""
"""A program that runs with every extra, and a pipeline for those of extras."""

LOCAL: Final = """
import polars as pl
from flowalg_polars import batch, collect
rows = pl.DataFrame([{"team": "a", "points": 1, "at": NOON}, {"team": "a", "points": 2, "at": NOON}])
rows = rows.with_columns(pl.col("at").dt.cast_time_unit("us"))
assert [pane.value for pane in collect(totals, batch.compile(totals, {SCORES: rows}))] == [3]
"""

EXTRAS: Final[Mapping[str, str]] = {
    "polars": LOCAL,
    "workers": LOCAL,
    "spark": LOCAL + "import flowalg_spark, flowalg_spark.streaming\n",
    "connect": "import pyspark.sql.connect.session, flowalg_spark\n",
    "postgresql": "from flowalg_sinks import PostgreSQL\nPostgreSQL('')\n",
    "kafka": "import confluent_kafka, flowalg_kafka\n",
    "sketches": "from flowalg.combiners import ApproximateDistinct\n"
    "counted = keyed.combine_per_key(ApproximateDistinct())\n"
    "assert [pane.value for pane in reference.run(counted, {SCORES: timeline}).panes] == [2]\n",
    "laws": "from flowalg_laws import check_combiner\nfrom hypothesis import strategies as st\n"
    "check_combiner(Sum(), st.integers(-9, 9))\n",
    "plot": "from flowalg_tools.pictures import draw_run\n"
    "draw_run(reference.run(totals, {SCORES: timeline}), 'run.svg')\n",
    "cli": "import subprocess, sys\nfrom pathlib import Path\n"
    "flowalg = Path(sys.executable).with_name('flowalg')\n"
    "assert 'explain' in subprocess.run([flowalg, '--help'], capture_output=True, text=True, check=True).stdout\n",
    "store": "from flowalg_polars import streaming\nstreaming.drain('memory://release')\n",
    "prometheus": "from flowalg_tools.monitoring.prometheus import prometheus_text\nprometheus_text([])\n",
    "opentelemetry": "from flowalg_tools.monitoring import Monitor\n"
    "from flowalg_tools.monitoring.open_telemetry import instrument\ninstrument(Monitor())\n",
}
"""The extras for users, and what to run with each. The others are for the development of the project."""


class ReleaseError(Exception):
    """A check that failed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the checks, and returns 1 if one fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", choices=PYTHONS, help="a version to try; repeatable")
    parser.add_argument(
        "--extra", action="append", choices=sorted(EXTRAS), help="an extra to try; repeatable"
    )
    options = parser.parse_args(arguments)
    try:
        print(check(options.python or PYTHONS, options.extra or tuple(EXTRAS)))
    except ReleaseError as failed:
        print(f"release-check: {failed}", file=sys.stderr)
        return 1
    return 0


def check(pythons: Sequence[str], extras: Sequence[str]) -> str:
    """Runs the checks and returns the last line; raises ``ReleaseError`` for one that fails."""
    version = compare_versions(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    )
    sdist, wheel = build(version)
    by_python = {python: interpreter for python in pythons if (interpreter := find_interpreter(python))}
    if not by_python:
        raise ReleaseError(f"there is no interpreter of Python {', '.join(pythons)}")
    count = 0
    for python, interpreter in by_python.items():
        for name, requirement, program in (
            ("sdist", str(sdist), PLAIN),
            ("wheel", str(wheel), PLAIN),
            *((extra, f"{wheel}[{extra}]", PLAIN + EXTRAS[extra]) for extra in extras),
        ):
            if reason := COMPILED.get((python, name)):
                print(f"Python {python}, {name}: not tried, {reason}", flush=True)
                continue
            try_environment(interpreter, requirement, program, f"Python {python}, {name}")
            print(f"Python {python}, {name}: held", flush=True)
            count += 1
    missing = [python for python in pythons if python not in by_python]
    rest = f"; not tried, without an interpreter: Python {', '.join(missing)}" if missing else ""
    return f"release-check: all held, flowalg {version} in {count} environments of Python {', '.join(by_python)}{rest}"


def compare_versions(project: str, changelog: str) -> str:
    """Returns the version of the project, which the changelog must have, or be about to have."""
    version = str(tomllib.loads(project)["project"]["version"])
    sections = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    released = [section for section in sections if section != "Unreleased"]
    if "Unreleased" in sections[1:]:
        raise ReleaseError("CHANGELOG.md: Unreleased must be the first section")
    for section in released:
        if not re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", section):
            raise ReleaseError(f"CHANGELOG.md: a section must be a version and a day; got {section!r}")
    numbers = [tuple(map(int, section.split(" ")[0].split("."))) for section in released]
    if numbers != sorted(numbers, reverse=True) or len({*numbers}) < len(numbers):
        raise ReleaseError(
            f"CHANGELOG.md: versions must be in order, the newest first; got {', '.join(released)}"
        )
    own = tuple(map(int, version.split(".")))
    if sections[:1] == ["Unreleased"]:
        if numbers and own < numbers[0]:
            raise ReleaseError(
                f"pyproject.toml has version {version}, and CHANGELOG.md the later {released[0]}"
            )
    elif not numbers or own != numbers[0]:
        raise ReleaseError(
            f"pyproject.toml has version {version}, and CHANGELOG.md begins with {sections[:1]}"
        )
    return version


def build(version: str) -> tuple[Path, Path]:
    """Builds the sdist, and the wheel from it, checks their metadata, and returns both."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT)], "building")
    sdist, wheel = dist / f"flowalg-{version}.tar.gz", dist / f"flowalg-{version}-py3-none-any.whl"
    if {*dist.iterdir()} != {sdist, wheel}:
        raise ReleaseError(
            f"dist must have {sdist.name} and {wheel.name}; got {sorted(map(str, dist.iterdir()))}"
        )
    run([sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)], "twine check")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"):
        if needed not in names:
            raise ReleaseError(f"the sdist has no {needed}")
    print(f"built and checked: {sdist.name}, {wheel.name}", flush=True)
    return sdist, wheel


def find_interpreter(python: str) -> Path | None:
    """Returns an interpreter of a version, of the path or of pyenv; ``None`` if there is none."""
    return next((path for path in _interpreters(python) if _version_of(path) == python), None)


def _interpreters(python: str) -> Iterator[Path]:
    if path := shutil.which(f"python{python}"):
        yield Path(path)
    yield Path(sys.executable)
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(versions.glob(f"{python}.*/bin/python{python}"), reverse=True)


def _version_of(interpreter: Path) -> str | None:
    """Returns the version of an interpreter; ``None`` if it does not run, as a shim of pyenv."""
    program = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run(
            [interpreter, "-I", "-c", program], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def try_environment(interpreter: Path, requirement: str, program: str, name: str) -> None:
    """Installs a requirement in a new environment and runs a program there, without the source tree."""
    with tempfile.TemporaryDirectory(prefix="flowalg-release-") as folder:
        environment = Path(folder) / "environment"
        run([str(interpreter), "-m", "venv", str(environment)], f"{name}: making the environment")
        own = str(environment / "bin" / "python")
        run([own, "-m", "pip", "install", "--quiet", requirement], f"{name}: installing")
        run([own, "-m", "pip", "check"], f"{name}: pip check")
        script = Path(folder) / "program.py"
        script.write_text(program, encoding="utf-8")
        run([own, "-I", str(script)], f"{name}: running", folder=Path(folder))


def run(command: Sequence[str], what: str, folder: Path | None = None) -> None:
    """Runs a command; raises ``ReleaseError`` with the end of its output if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise ReleaseError(f"{what} failed:\n{(done.stdout + done.stderr)[-3000:]}")


if __name__ == "__main__":
    sys.exit(main())
