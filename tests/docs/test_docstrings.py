"""The docstrings are reStructuredText: the reference is made of them, and editors show them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

ROOT = Path(__file__).parents[2]
QUIET = {"warning_stream": False, "halt_level": 6}


def docstrings_of(module: Path) -> Iterator[str]:
    """Yields the docstrings of a module, also those of attributes."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield cleandoc(text)
            case _:
                pass


@pytest.mark.long
def test_every_docstring_is_restructured_text() -> None:
    """docutils reads every docstring without a warning, as ``make docs`` requires of those of public names."""
    messages = [
        f"{module.relative_to(ROOT)}: {message.astext()} in {message.parent.rawsource!r}"
        for top in ("flowalg", "laws", "interpreters")
        for module in sorted((ROOT / top).rglob("*.py"))
        for message in publish_doctree(
            "\n\n..\n\n".join(docstrings_of(module)), settings_overrides=QUIET
        ).findall(nodes.system_message)
    ]
    assert messages == []
