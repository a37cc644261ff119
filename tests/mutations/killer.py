"""A pytest plugin that runs the laws first, and writes the name of the first failed test to a file."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "FLOWALG_KILLER"
"""The environment variable with the name of the file to write to."""

KINDS: Final = ("law", "property", "example")


def kind_of(item: pytest.Item) -> str:
    """Returns whether a test is a law of ``flowalg_laws``, another property, or an example."""
    name = item.nodeid
    if "test_laws.py" in name or "the_laws" in name:
        return "law"
    return "property" if item.get_closest_marker("hypothesis") else "example"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the tests: laws first, then properties, then examples."""
    items.sort(key=lambda item: KINDS.index(kind_of(item)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Writes the kind and the name of a failed test."""
    report = yield
    if report.failed and VARIABLE in os.environ:
        Path(os.environ[VARIABLE]).write_text(f"{kind_of(item)}\t{item.nodeid}")
    return report
