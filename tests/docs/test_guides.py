"""The pages of the guide are executed, print what they say, and draw the pictures that they show."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from docs.pages import DOCS, PAGES, SPARK_PAGES, run_again, working_in
from docs.tables import api

settings.register_profile("reader", max_examples=100, derandomize=True, deadline=None)


@pytest.fixture
def as_many_examples_as_a_reader_has() -> Iterator[None]:
    """Hypothesis's own number: the few of the quick profile may find nothing."""
    before = settings.get_current_profile_name()
    settings.load_profile("reader")
    yield
    settings.load_profile(before)


def parts_of(picture: Path) -> list[tuple[str, str]]:
    """The elements of a picture and their texts, in order, wherever a font puts them."""
    root = ET.fromstring(picture.read_text(encoding="utf-8"))
    return [(one.tag, (one.text or "").strip()) for one in root.iter()]


@pytest.mark.usefixtures("as_many_examples_as_a_reader_has")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_and_draws_what_it_shows(name: str, tmp_path: Path) -> None:
    """All blocks in order, as one program; ``python -m docs.pages`` writes output and pictures anew."""
    page = DOCS / f"{name}.md"
    with working_in(tmp_path):
        assert run_again(page) == page.read_text(encoding="utf-8")
    for drawn in tmp_path.glob("pictures/*.svg"):
        assert parts_of(drawn) == parts_of(DOCS / "pictures" / drawn.name)


@pytest.mark.parametrize("name", SPARK_PAGES)
def test_a_page_on_spark_prints_what_it_shows(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """With a session that the reader has."""
    page = DOCS / f"{name}.md"
    with working_in(tmp_path):
        assert run_again(page, spark=spark) == page.read_text(encoding="utf-8")


def test_every_picture_is_shown_somewhere() -> None:
    """No picture is left over from a page that has changed."""
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    assert [one.name for one in (DOCS / "pictures").iterdir() if f"pictures/{one.name}" not in pages] == []


def test_every_page_is_in_the_contents() -> None:
    """Whoever begins at ``index.md`` can come to all of them."""
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^([\w/-]+)$", "".join(re.findall(r"```\{toctree\}\n(.*?)```", contents, re.S)), re.M
    )
    pages = {str(one.relative_to(DOCS).with_suffix("")) for one in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(pages | {"gallery/index"} | {f"api/{name}" for name in api.PAGES})


def test_links_between_pages_lead_somewhere() -> None:
    """To a file that there is, so that the pages can be read as plain Markdown too."""
    for page in [DOCS.parent / "README.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_command_of_the_guide_is_run() -> None:
    """One that is shown as a command is run with its page, but for the demo, which has a test of its own."""
    for page in DOCS.glob("*.md"):
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M)
        for language, block in blocks:
            commands = re.findall(r"^(?:\$ )?flowalg .*$", block, re.M)
            run = language == "console" and page.stem in (*PAGES, "command-line")
            assert run or set(commands) <= {"flowalg demo"}, f"{page.name}: {commands}"


def test_the_reference_has_every_public_name() -> None:
    """A name that a package exports stands under some heading."""
    assert api.missing() == []
