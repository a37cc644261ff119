"""What is imported, exported and shipped: faults here break users before any semantics do."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import flowalg

ROOT = Path(__file__).parents[2]
PACKAGES = ("flowalg", "flowalg_laws", "flowalg_reference", "flowalg_shard", "flowalg_spark", "flowalg_tools")


def modules_after(imported: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after importing a package and all its modules."""
    code = (
        f"import sys, pkgutil, importlib, {imported} as package\n"
        "for one in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(one.name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        (
            "flowalg",
            {"pyspark", "polars", "pyarrow", "pandas", "numpy", "datasketches", "hypothesis", "matplotlib"}
            | {*PACKAGES[1:]},
        ),
        (
            "flowalg_reference",
            {"pyspark", "polars", "pyarrow", "hypothesis", "flowalg_shard", "flowalg_spark", "flowalg_tools"},
        ),
        ("flowalg_shard", {"pyspark", "hypothesis", "flowalg_spark", "flowalg_reference", "flowalg_tools"}),
        ("flowalg_spark", {"hypothesis", "flowalg_reference", "flowalg_laws", "flowalg_tools"}),
        ("flowalg_laws", {"pyspark", "polars", "flowalg_spark", "flowalg_shard", "flowalg_tools"}),
        ("flowalg_tools", {"pyspark", "hypothesis", "flowalg_spark", "flowalg_laws"}),
    ],
)
def test_dependencies_point_one_way(package: str, forbidden: set[str]) -> None:
    """The core imports no interpreter, engine or test library; the shard step no Spark; Spark no tests."""
    assert modules_after(package) & forbidden == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_exports_what_it_lists(package: str) -> None:
    """Each module of each package has an ``__all__`` whose names exist, sorted as ruff sorts them; a room need not."""
    top = importlib.import_module(package)
    for one in pkgutil.walk_packages(top.__path__, f"{package}."):
        module = importlib.import_module(one.name)
        assert one.ispkg or hasattr(module, "__all__"), one.name
        assert all(hasattr(module, name) for name in getattr(module, "__all__", ())), one.name


def test_the_public_surface_is_one_list() -> None:
    """``flowalg.__all__`` is all that the package shows, apart from its modules."""
    shown = {name for name in vars(flowalg) if not name.startswith("_")}
    modules = {one.name for one in pkgutil.iter_modules(flowalg.__path__)}
    assert shown - modules == set(flowalg.__all__) - modules


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_typed(package: str) -> None:
    """A ``py.typed`` lies in each package, so that its types reach users."""
    top = importlib.import_module(package)
    assert top.__file__ is not None
    assert (Path(top.__file__).parent / "py.typed").exists()
