"""The pages of the guide are executed, and print what they say."""

from __future__ import annotations

import io
import linecache
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).parent.parent / "docs"

settings.register_profile("reader", max_examples=100, derandomize=True, deadline=None)


@pytest.fixture
def as_many_examples_as_a_reader_has() -> Iterator[None]:
    """Hypothesis's own number: the few of the quick profile may find nothing."""
    before = settings.get_current_profile_name()
    settings.load_profile("reader")
    yield
    settings.load_profile(before)


@pytest.mark.usefixtures("as_many_examples_as_a_reader_has")
@pytest.mark.parametrize("page", ["check-your-own", "asking-why", "coming-from"])
def test_a_page_prints_what_it_says(page: str) -> None:
    """All blocks in order, as one program; each text block is what the code before it prints."""
    prints_what_it_says(page, {})


def test_the_page_of_sinks_prints_what_it_says(spark: SparkSession) -> None:
    """It is given a session."""
    prints_what_it_says("sinks", {"spark": spark})


def prints_what_it_says(page: str, given: dict[str, object]) -> None:
    """Run a page's blocks, with some names given, and compare."""
    namespace: dict[str, object] = {"__name__": page.replace("-", "_"), **given}
    printed = ""
    found = re.findall(r"```(python|text)\n(.*?)```", (DOCS / f"{page}.md").read_text(), flags=re.DOTALL)
    for number, (language, block) in enumerate(found):
        if language == "text":
            assert printed == block
            printed = ""
            continue
        assert not printed, f"the page does not show what is printed before block {number}"
        name = f"{page}_{number}.py"
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(block, name, "exec", dont_inherit=True), namespace)
        printed = output.getvalue()
    assert not printed
    # Spark keeps the functions that it was given for batches, and with them all that the page has named.
    namespace.clear()
