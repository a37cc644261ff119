"""A mutant: one deliberate fault, as a change of syntax, and the law or the claim that it breaks.

Its place is a function's qualified name and a piece of syntax in it, compared as syntax trees. A mutant therefore still
finds its place if formatting, comments or the module of the function change.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from attrs import frozen

Scope: TypeAlias = ast.FunctionDef | ast.ClassDef
Sources: TypeAlias = Mapping[str, str]
"""The texts of the modules of the packages, by file."""


class StaleMutantError(Exception):
    """The syntax that a mutant changes is not found exactly once, since the code has changed; update the mutant."""


@frozen
class Mutation:
    """A file and its text with a fault."""

    file: str
    text: str


@frozen
class Mutant:
    """A mistake that an implementer could make: an expression or a statement replaced by another.

    ``breaks`` is the law or the claim that the fault breaks, with the names of laws of ``flowalg_laws`` in backticks.
    ``function`` is the qualified name of a function or class. The package and a colon precede the name if it exists in
    several packages. ``old`` is an expression or a statement in the function. ``new``, which may be several statements,
    replaces it.
    """

    fault: str
    breaks: str
    function: str
    old: str
    new: str

    def apply(self, sources: Sources) -> Mutation:
        """Returns the file with the fault; raises ``StaleMutantError`` unless the old syntax occurs exactly once.

        It is also raised if the new syntax has a name that is not in scope, since every test would fail on it.
        """
        old, new = self._parsed()
        places = [
            (file, node, names)
            for file, scope, names in _scopes(sources, self.function)
            for node in ast.walk(scope)
            if isinstance(node, ast.expr | ast.stmt) and type(node) is type(old)
            if ast.dump(node) == ast.dump(old)
        ]
        if len(places) != 1:
            raise StaleMutantError(f"{self.fault}: {self.function} contains {len(places)} times:\n{self.old}")
        ((file, node, names),) = places
        if unknown := _names(new) - _bound(new) - names:
            raise StaleMutantError(f"{self.fault}: {self.function} has no {', '.join(sorted(unknown))}")
        return Mutation(file, _replace(sources[file], node, self.new))

    def _parsed(self) -> tuple[ast.expr | ast.stmt, ast.AST]:
        """Returns the old and the new syntax: expressions if both are expressions, statements otherwise."""
        try:
            return ast.parse(self.old, mode="eval").body, ast.parse(self.new, mode="eval")
        except SyntaxError:
            (statement,) = ast.parse(self.old).body
            return statement, ast.parse(self.new)


@frozen
class Area:
    """Faults of one part of the model, and the tests that should detect them; ``laws`` is ``test_laws.py``."""

    name: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]


def sources_under(root: Path) -> dict[str, str]:
    """Returns the texts of the modules of the packages in a tree of this project, by file."""
    files = sorted(path for folder in ("flowalg", "interpreters") for path in (root / folder).rglob("*.py"))
    return {str(path.relative_to(root)): path.read_text() for path in files}


def _scopes(sources: Sources, function: str) -> Iterator[tuple[str, Scope, frozenset[str]]]:
    """Yields the functions with a qualified name, each with its file and the names in scope."""
    package, _, name = function.rpartition(":")
    first, *rest = name.split(".")
    defined = re.compile(rf"^ *(def|class) {first}\b", re.MULTILINE)
    for file, text in sources.items():
        if (not package or package in Path(file).parts[:2]) and defined.search(text):
            module = ast.parse(text)
            shared = _names(*(statement for statement in module.body if not isinstance(statement, Scope)))
            shared |= {statement.name for statement in module.body if isinstance(statement, Scope)} | set(
                dir(builtins)
            )
            for scope in _qualified(module, first, *rest):
                yield file, scope, shared | _names(scope)


def _qualified(tree: ast.AST, first: str, *rest: str) -> Iterator[Scope]:
    """Yields the functions and classes in a tree that have a qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Scope) and node.name == first:
            yield from _qualified(node, *rest) if rest else (node,)


def _names(*trees: ast.AST) -> frozenset[str]:
    """Returns the names of variables, parameters and imports in some syntax."""
    return frozenset(name for tree in trees for node in ast.walk(tree) for name in _names_at(node))


def _bound(tree: ast.AST) -> frozenset[str]:
    """Returns the variables that some syntax binds."""
    stored = (
        node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return frozenset(node.id for node in stored)


def _names_at(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name
        case _:
            return


def _replace(text: str, node: ast.expr | ast.stmt, new: str) -> str:
    """Returns a text with a node replaced: an expression in parentheses, or a statement by any number of them."""
    lines = text.encode().splitlines(keepends=True)  # columns of syntax trees count bytes
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    replacement = (
        f"({new})" if isinstance(node, ast.expr) else new.replace("\n", "\n" + " " * node.col_offset)
    )
    return before.decode() + replacement + after.decode()
