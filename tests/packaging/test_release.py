"""The version and the changelog, as a release needs them; the rest of ``make release-check`` takes an hour."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.packaging.release_check import ReleaseError, compare_versions, find_interpreter

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final = '[project]\nversion = "0.2.0"\n'


def test_the_changelog_is_in_order() -> None:
    """The version of the package is the first in the changelog, or will be."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert compare_versions(project, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "changelog",
    [
        "## Unreleased\n",
        "## Unreleased\n## 0.1.0 - 2026-01-01\n",
        "## 0.2.0 - 2026-02-01\n## 0.1.0 - 2026-01-01\n",
        "## Unreleased\n## 0.2.0 - 2026-02-01\n",
    ],
)
def test_a_version_that_the_changelog_has_or_will_have_is_valid(changelog: str) -> None:
    """A section is a version and a day, the newest first, after the unreleased changes."""
    assert compare_versions(PROJECT, changelog) == "0.2.0"


@pytest.mark.parametrize(
    ("changelog", "why"),
    [
        ("", "has version 0.2.0, and CHANGELOG.md begins with"),
        ("## 0.1.0 - 2026-01-01\n", "has version 0.2.0, and CHANGELOG.md begins with"),
        ("## 0.2.0 - 2026-01-01\n## Unreleased\n", "Unreleased must be the first"),
        ("## 0.2.0\n", "must be a version and a day; got '0.2.0'"),
        ("## 0.2.0 - 2026-01-01\n## 0.10.0 - 2026-01-02\n", "must be in order"),
        ("## Unreleased\n## 0.10.0 - 2026-01-02\n", "has version 0.2.0, and CHANGELOG.md the later 0.10.0"),
    ],
)
def test_a_changelog_out_of_order_is_an_error(changelog: str, why: str) -> None:
    """A missing, unordered or later version, or one without its day, stops the release."""
    with pytest.raises(ReleaseError, match=why):
        compare_versions(PROJECT, changelog)


def test_an_interpreter_is_of_the_version_that_it_says() -> None:
    """A version of Python that does not exist has no interpreter."""
    assert find_interpreter("3.99") is None
