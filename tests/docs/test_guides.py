"""The code and the commands of every page of the guide run, and give the output and the pictures on the page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest
import typer
from flowalg_polars.streaming.storage import checkpoint
from flowalg_spark.state import state_format
from flowalg_tools.cli.app import app
from flowalg_tools.monitoring import METRICS
from hypothesis import settings
from pyspark.sql import SparkSession

from docs.pages import DOCS, PAGES, SPARK_PAGES, run_page, working_in
from docs.tables import api
from tests.support.depth import a_few

METRIC_NAMES = {metric.name for metric in METRICS}
"""Dotted names that are not modules."""

settings.register_profile("reader", max_examples=100, derandomize=True, deadline=None)


@pytest.fixture
def default_number_of_examples() -> Iterator[None]:
    """Sets Hypothesis's own number of examples, as for a reader; the quick profile may find no counterexample."""
    before = settings.get_current_profile_name()
    settings.load_profile("reader")
    yield
    settings.load_profile(before)


def elements_of(picture: Path) -> list[tuple[str, str]]:
    """Returns the elements of a picture and their texts, in order, without positions, which depend on the fonts."""
    root = ET.fromstring(picture.read_text(encoding="utf-8"))
    return [(element.tag, (element.text or "").strip()) for element in root.iter()]


@pytest.mark.long
@pytest.mark.usefixtures("default_number_of_examples")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_its_output_and_its_pictures(name: str, tmp_path: Path) -> None:
    """All blocks of a page run in order, as one program; ``python -m docs.pages`` updates output and pictures."""
    page = DOCS / f"{name}.md"
    with working_in(tmp_path):
        assert run_page(page) == page.read_text(encoding="utf-8")
    for drawn in tmp_path.glob("pictures/*.svg"):
        assert elements_of(drawn) == elements_of(DOCS / "pictures" / drawn.name)


@pytest.mark.parametrize("name", a_few(SPARK_PAGES, ["sinks"]))
def test_a_page_on_spark_shows_its_output(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """A page on Spark runs with the session ``spark``, and shows its output."""
    page = DOCS / f"{name}.md"
    with working_in(tmp_path):
        assert run_page(page, spark=spark) == page.read_text(encoding="utf-8")


def test_every_picture_is_used() -> None:
    """Every file in ``docs/pictures`` is shown on a page."""
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    pictures = (DOCS / "pictures").iterdir()
    assert [picture.name for picture in pictures if f"pictures/{picture.name}" not in pages] == []


def test_every_page_is_in_the_contents() -> None:
    """The contents of ``index.md`` list every page once."""
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^([\w/-]+)$", "".join(re.findall(r"```\{toctree\}\n(.*?)```", contents, re.S)), re.M
    )
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(pages | {"gallery/index"} | {f"api/{name}" for name in api.PAGES})


def test_every_link_between_pages_has_a_target() -> None:
    """Every relative link leads to a file and a heading that exist, so the pages work as plain Markdown too."""
    for page in [*DOCS.parent.glob("*.md"), *DOCS.glob("*.md")]:
        for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^):]*))?\)", page.read_text(encoding="utf-8")):
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name}: {target}"
            if heading:
                assert heading in anchors_of(path), f"{page.name}: {target}#{heading}"


def test_every_module_of_a_page_exists() -> None:
    """A file or folder that a page names with its path exists, and a dotted name is a metric or can be imported."""
    root = DOCS.parent
    for page in [*root.glob("*.md"), *DOCS.glob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        for path in re.findall(
            r"`((?:docs|tests|tools|laws|interpreters|flowalg\w*)/[\w/]+(?:\.py)?)/?`", text
        ):
            roots = (root, root / "interpreters", root / "laws")
            assert any((folder / path).exists() for folder in roots), f"{page.name}: {path}"
        for name in re.findall(r"`(flowalg\w*(?:\.\w+)+)", text):
            assert name in METRIC_NAMES or can_import(name), f"{page.name}: {name}"


def can_import(name: str) -> bool:
    """Returns whether a dotted name is a module, or an attribute of one."""
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def anchors_of(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_command_of_the_guide_is_on_a_page_that_runs() -> None:
    """Every command in a code block is on a page that runs."""
    for page in DOCS.glob("*.md"):
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M)
        for language, block in blocks:
            commands = re.findall(r"^(?:\$ )?flowalg .*$", block, re.M)
            run = language == "console" and page.stem in (*PAGES, "mistakes")
            assert run or not commands, f"{page.name}: {commands}"


def test_every_command_and_target_that_a_page_names_exists() -> None:
    """A command ``flowalg x`` in the text of a page is one of the command line, and ``make x`` a target."""
    root = DOCS.parent
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.M))
    commands = set(typer.main.get_group(app).commands)
    for page in [*root.glob("*.md"), *DOCS.glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        assert {*re.findall(r"`flowalg ([a-z][a-z-]*)", text)} <= commands, page.name
        assert {*re.findall(r"`make ([a-z][a-z-]*)", text)} <= targets, page.name


def test_the_page_of_state_has_the_versions_of_the_layouts() -> None:
    """The versions of the layout of checkpoints on the page are those that the engines write."""
    text = (DOCS / "state.md").read_text(encoding="utf-8")
    versions = re.findall(r"has a version: (\d+) on Spark, and (\d+) on the local engine", text)
    assert versions == [(str(state_format.FORMAT), str(checkpoint.FORMAT))]


@pytest.mark.long
def test_the_reference_has_every_public_name() -> None:
    """Every name that a package exports is on a page of the API reference, and every name on a page exists."""
    assert api.missing() == []
    for page in api.PAGES.values():
        assert api.page_text(page)
