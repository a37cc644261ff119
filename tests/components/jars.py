"""Jars of Maven Central, with their dependencies, resolved by Maven into a folder of ``build``."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

BUILD: Final = Path(__file__).resolve().parents[2] / "build"
MISSING: Final = "Maven is not installed: there is no mvn on the PATH (apt-get install maven)"

_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>flowalg</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY: Final = """
<dependency><groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version></dependency>"""


def resolve_jars(name: str, coordinates: Sequence[str]) -> list[Path]:
    """Returns the jars of some ``group:artifact:version`` with their dependencies, sorted.

    They are copied into ``build/jars/<name>`` once. Raises ``RuntimeError`` if Maven is missing or fails.
    """
    wanted = "\n".join(coordinates)
    folder = BUILD / "jars" / name
    done = folder / "coordinates"
    if not done.exists() or done.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _copy(folder, coordinates)
        done.write_text(wanted)  # last: an incomplete folder is resolved again
    return sorted(folder.glob("*.jar"))


def missing_jars(name: str) -> str | None:
    """Returns what ``resolve_jars`` needs and this machine lacks; ``None`` if nothing."""
    return None if (BUILD / "jars" / name / "coordinates").exists() or shutil.which("mvn") else MISSING


def _copy(folder: Path, coordinates: Sequence[str]) -> None:
    program = shutil.which("mvn")
    if program is None:
        raise RuntimeError(MISSING)
    with TemporaryDirectory() as project:
        dependencies = "".join(_DEPENDENCY.format(*coordinate.split(":")) for coordinate in coordinates)
        (Path(project) / "pom.xml").write_text(_POM.format(dependencies=dependencies))
        command = [program, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        result = subprocess.run(
            [*command, "-DincludeScope=runtime"], cwd=project, capture_output=True, text=True, check=False
        )
    if result.returncode != 0:
        message = f"Maven could not resolve {', '.join(coordinates)}:\n{result.stdout}{result.stderr}"
        raise RuntimeError(message.rstrip())
