"""A regular expression that is lifted means in Polars what it means in Python."""

from __future__ import annotations

import re

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from flowalg.lifting.operations.patterns import common_pattern
from flowalg.lifting.tree.expressions import first_opaque
from tests.polars.test_lifted_expressions import differences
from tests.support.lifting.edge_functions import lift_edge_function
from tests.support.lifting.patterns import flags, functions_of, patterns, texts
from tests.support.lifting.rows import rows

[ROW] = rows(1)


@given(patterns, flags, st.lists(texts, min_size=20, max_size=20))
def test_generated_patterns_have_the_results_of_python(text: str, flag: int, searched: list[str]) -> None:
    """Whatever is lifted of a pattern finds, replaces and fails as in Python."""
    lifted = [f for f in functions_of(re.compile(text, flag)) if first_opaque(lift_edge_function(f)) is None]
    assert differences(lifted, [evolve(ROW, s=of) for of in searched], "in-memory") == []


def test_what_is_read_differently_is_left_to_python() -> None:
    """Ignored case, word boundaries, look-around, back-references, ``$`` inside, and long or open loops of groups."""
    patterns_of_python = (
        r"(?i)a",
        r"\bword",
        r"(?=a)b",
        r"(a)\1",
        r"a$b",
        r"(?:ab)*",
        "a{101}",
        r"(?:\w{99}){9}",
    )
    for text in (*patterns_of_python, r"(?m)^a", r"(?>ab)"):
        assert isinstance(common_pattern(text, re.compile(text).flags), str), text
