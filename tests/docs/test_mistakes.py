"""The messages for the mistakes of ``docs/mistakes.md``."""

from __future__ import annotations

import re

import pytest
from flowalg_reference import Reference
from flowalg_spark import SparkBatch, SparkStreaming
from pyspark.sql import SparkSession

from docs.mistakes import CHECKERS, PATH, blocks, check_types, run_mistakes
from flowalg import Interpreter

MISTAKES = [mistake for _, mistake in blocks(PATH.read_text(encoding="utf-8"))]


def test_no_mistake_is_silent() -> None:
    """The page has at least a hundred mistakes, and for each of them at least one message."""
    shown = [mistake for mistake in MISTAKES[1:] if mistake.language != "csv"]
    assert PATH.read_text(encoding="utf-8").count("\n### ") >= 100
    assert [mistake.code for mistake in shown if not mistake.shown] == []


def test_the_messages_are_those_on_the_page(spark: SparkSession) -> None:
    """Constructors, interpreters, Spark, the command line and hazards give the messages that the page shows."""
    engines: dict[str, Interpreter] = {
        "reference": Reference(),
        "batch": SparkBatch(spark),
        "stream": SparkStreaming(spark),
    }
    messages = run_mistakes(MISTAKES, engines, spark)
    for mistake in MISTAKES[1:]:
        expected = {place: line for place, line in mistake.shown.items() if place not in CHECKERS}
        assert messages.get(mistake.number, {}) == expected, (
            f"python -m docs.mistakes updates:\n{mistake.code}"
        )


@pytest.mark.long
@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_report_the_mistakes_on_the_page(checker: str) -> None:
    """A type checker reports the mistakes for which the page has its message, with the same code, and no others."""
    codes = {number: _code(message) for number, message in check_types(MISTAKES, checker).items()}
    assert codes == {
        mistake.number: _code(mistake.shown[checker]) for mistake in MISTAKES if checker in mistake.shown
    }


def _code(message: str) -> str:
    code = re.search(r"\[[\w-]+\]$", message)
    assert code is not None, message
    return code[0]
