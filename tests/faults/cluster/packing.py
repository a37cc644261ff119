"""What is sent to a cluster: flowalg and the libraries of its workers as an archive, and the query's modules."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from attrs import frozen

from tests.faults.subject import ROOT

FOLDER: Final = "libraries"
"""The folder in which an executor finds the archive."""


@frozen
class Shipped:
    """What is sent to the cluster: the folder of libraries, for the driver, its archive, and the tests' modules."""

    libraries: Path
    archive: Path
    modules: Path

    @classmethod
    def pack(cls, folder: Path) -> Shipped:
        """Packs what is sent, in a folder."""
        libraries, archive = pack_libraries(folder)
        return cls(libraries, archive, pack_modules(folder))


def pack_libraries(folder: Path) -> tuple[Path, Path]:
    """Installs flowalg's wheel with its extra ``workers`` to a folder; returns the folder, and its archive.

    The workers have Spark's own Python package from their Spark, and Python itself from their machine.
    """
    wheels, libraries = folder / "wheel", folder / FOLDER
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)], check=True)
    (wheel,) = wheels.glob("flowalg-*.whl")
    subprocess.run([*pip, "install", "--target", str(libraries), f"{wheel}[workers]"], check=True)
    archive = folder / f"{FOLDER}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(libraries, arcname=".")
    return libraries, archive


def pack_modules(folder: Path) -> Path:
    """Returns a zip file with the modules of the tests, for ``spark-submit --py-files``."""
    archive = folder / "modules.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        # A package without ``__init__.py`` is found in a zip file only by the entry of its folder.
        for path in (ROOT / "tests", *sorted((ROOT / "tests").rglob("*"))):
            if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__"):
                packed.write(path, path.relative_to(ROOT))
    return archive
