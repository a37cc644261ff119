"""Imports, exports and typing information of the packages."""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from pathlib import Path

import pytest

import flowalg
from tests.support.programs import run_code

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "flowalg",
    "flowalg_kafka",
    "flowalg_laws",
    "flowalg_reference",
    "flowalg_shard",
    "flowalg_snapshots",
    "flowalg_spark",
    "flowalg_tools",
)


def modules_after(imported: str) -> set[str]:
    """Returns the top-level modules of a fresh interpreter after importing a package and all its modules."""
    code = (
        f"import sys, pkgutil, importlib, {imported} as package\n"
        "for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    return set(run_code(code).split())


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
def test_packages_import_only_what_they_may(package: str, forbidden: set[str]) -> None:
    """The core imports no interpreter, engine or test library, the shard step no Spark, and Spark no test library."""
    assert modules_after(package) & forbidden == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_in_an_all_exists(package: str) -> None:
    """The names in the ``__all__`` of a package exist; modules have none: an underscore says what is private."""
    top = importlib.import_module(package)
    for info in pkgutil.walk_packages(top.__path__, f"{package}."):
        module = importlib.import_module(info.name)
        assert info.ispkg or not hasattr(module, "__all__"), info.name
        assert all(hasattr(module, name) for name in getattr(module, "__all__", ())), info.name


def test_all_lists_the_whole_public_surface() -> None:
    """``flowalg.__all__`` has all public names of the package, apart from its modules."""
    public = {name for name in vars(flowalg) if not name.startswith("_")}
    modules = {info.name for info in pkgutil.iter_modules(flowalg.__path__)}
    assert public - modules == set(flowalg.__all__) - modules


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_typed(package: str) -> None:
    """Each package has a ``py.typed``, so type checkers read its annotations."""
    top = importlib.import_module(package)
    assert top.__file__ is not None
    assert (Path(top.__file__).parent / "py.typed").exists()


def test_the_licence_of_the_metadata_is_the_text_in_the_repository() -> None:
    """The metadata names the licence Apache-2.0, and the file that it includes has its text and the authors."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (name,) = project["license-files"]
    text = (ROOT / name).read_text()
    assert project["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in text
    assert f"Copyright 2026 {project['authors'][0]['name']}" in text
