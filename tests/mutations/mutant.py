"""A mutant: one deliberate fault, as a change of syntax.

Its place is a function's qualified name and a piece of syntax in it, compared as syntax trees. A mutant therefore still
finds its place if formatting, comments, the module of the function or the names of its local variables change.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from attrs import field, frozen

Scope: TypeAlias = ast.FunctionDef | ast.ClassDef
Sources: TypeAlias = Mapping[str, ast.Module]
"""The modules of the packages, by file."""

_FOLDERS: Final = ("flowalg", "interpreters")
_BUILTINS: Final = frozenset(dir(builtins))
_BLOCKS: Final = ("body", "orelse", "handlers", "finalbody")


class StaleMutantError(Exception):
    """The syntax that a mutant changes is not found exactly once, since the code has changed; update the mutant."""


@frozen
class Mutation:
    """A file and its text with a fault."""

    file: str
    text: str


class Mutant(Protocol):
    """A fault of the code; it does not count if ``why_it_survives`` explains that no run can show it."""

    @property
    def fault(self) -> str:
        """The wrong behaviour."""
        ...

    @property
    def why_it_survives(self) -> str:
        """The reason why no run can show the fault; empty if a run can."""
        ...

    def apply(self, sources: Sources) -> Mutation:
        """Returns the file with the fault."""
        ...


@frozen
class Replacement:
    """A mistake that an implementer could make: an expression or a statement replaced by another.

    ``function`` is the qualified name of a function or class. The package and a colon precede the name if it exists in
    several packages. ``old`` is an expression or a statement in the function. ``new``, which may be several statements,
    replaces it. The body ``...`` of a compound statement matches any body.
    """

    fault: str
    function: str
    old: str
    new: str
    why_it_survives: str = ""

    def apply(self, sources: Sources) -> Mutation:
        """Returns the file with the fault; raises ``StaleMutantError`` unless the old syntax occurs exactly once.

        Syntax with other names of local variables matches only if no syntax has the same names.
        """
        (old,), new = _parse(self.old, self.new)
        places = [
            (file, node, match)
            for file, scope, names in find_scopes(sources, self.function)
            for node in ast.walk(scope)
            if (match := _Match(names)).matches(old, node)
        ]
        matching = [place for place in places if place[2].exact] or places
        if len(matching) != 1 or not (place := matching[0])[2].has_names_of(*new):
            raise StaleMutantError(
                f"{self.fault}: {self.function} contains {len(matching)} times:\n{self.old}"
            )
        file, node, match = place
        return Mutation(file, with_node(sources[file], node, *(match.rewrite(part, node) for part in new)))


def with_node(module: ast.Module, old: ast.AST, *new: ast.AST) -> str:
    """Returns the text of a module with a node replaced: an expression by one node, a statement by any number."""
    number = next(number for number, node in enumerate(ast.walk(module)) if node is old)
    copied = deepcopy(module)
    _Swap(list(ast.walk(copied))[number], new).visit(copied)
    return ast.unparse(ast.fix_missing_locations(copied))


def sources_under(root: Path) -> dict[str, ast.Module]:
    """Returns the modules of the packages in a tree of this project, by file."""
    files = sorted(path for folder in _FOLDERS for path in (root / folder).rglob("*.py"))
    return {str(path.relative_to(root)): ast.parse(path.read_text()) for path in files}


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: tuple[ast.AST, ...]) -> None:
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        """Returns the node, or its replacement."""
        if node is not self.old:
            return self.generic_visit(node)
        return self.new[0] if len(self.new) == 1 else list(self.new)


@frozen
class Names:
    """The names in scope in a function: its local variables, and the names of the module and the builtins."""

    local: frozenset[str]
    shared: frozenset[str]

    def canonical(self, node: ast.AST) -> str:
        """Returns the text of some syntax, with local variables renamed to numbers."""
        copied = deepcopy(node)
        numbers: dict[str, str] = {}
        for part in ast.walk(copied):
            if isinstance(part, ast.Name) and part.id in self.local:
                part.id = numbers.setdefault(part.id, f"local_{len(numbers)}")
        return ast.unparse(copied)

    @classmethod
    def of(cls, scope: Scope, module: ast.Module) -> Names:
        """Returns the names in a function of a module."""
        top = (bound for statement in module.body for bound in _bound_by(statement))
        return cls(_bound_in(scope), frozenset(top) | _BUILTINS)


def _bound_in(tree: ast.AST) -> frozenset[str]:
    """Returns the variables and parameters that a piece of syntax binds."""
    return frozenset(name for node in ast.walk(tree) if (name := _bound_at(node)))


def _bound_at(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.ExceptHandler(name=name):
            return name
        case _:
            return None


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """Yields the names that a statement binds in its module."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.If() | ast.Try() | ast.With():
            yield from (name for part in statement.body for name in _bound_by(part))
        case _:
            yield from _bound_in(statement)


@frozen
class _Match:
    """A comparison of two pieces of syntax; the second may have other names of local variables."""

    names: Names
    renames: dict[str, str] = field(factory=dict)

    @property
    def exact(self) -> bool:
        """Whether all names are the same."""
        return all(old == new for old, new in self.renames.items())

    def matches(self, old: object, node: object) -> bool:
        """Returns whether the syntax is equal up to a one-to-one renaming."""
        match old, node:
            case ast.Name(id=name), ast.Name(id=other):
                return self._binds(name, other)
            case ast.arg(arg=name), ast.arg(arg=other):
                return self._binds(name, other)
            case ast.AST(), ast.AST():
                ignored = _BLOCKS if _is_header(old) else ()
                return type(old) is type(node) and all(
                    self.matches(getattr(old, name), getattr(node, name))
                    for name in old._fields
                    if name not in ignored
                )
            case list(), list():
                return len(old) == len(node) and all(map(self.matches, old, node))
            case _:
                return old == node

    def _binds(self, old: str, new: str) -> bool:
        renamed = old != new and new in self.names.local and old not in self.names.shared
        if (old != new and not renamed) or (old not in self.renames and new in self.renames.values()):
            return False
        return self.renames.setdefault(old, new) == new

    def has_names_of(self, *new: ast.AST) -> bool:
        """Returns whether the names in some syntax are in scope at its place."""
        in_scope = self.names.local | self.names.shared | self.renames.keys()
        in_scope |= {name for part in new for name in _bound_in(part)}
        return all(
            node.id in in_scope for part in new for node in ast.walk(part) if isinstance(node, ast.Name)
        )

    def rewrite(self, new: ast.AST, node: ast.AST) -> ast.AST:
        """Returns some syntax with the names and the body of its place."""
        for part in ast.walk(new):
            if isinstance(part, ast.Name):
                part.id = self.renames.get(part.id, part.id)
            elif isinstance(part, ast.arg):
                part.arg = self.renames.get(part.arg, part.arg)
        if _is_header(new):
            for block in _BLOCKS:
                if hasattr(new, block):
                    setattr(new, block, getattr(node, block))
        return new


def _is_header(node: ast.AST) -> bool:
    """Returns whether this is a compound statement with the body ``...``."""
    match node:
        case ast.If(body=body) | ast.For(body=body) | ast.While(body=body) | ast.With(body=body):
            return [ast.dump(statement) for statement in body] == [ast.dump(ast.Expr(ast.Constant(...)))]
        case _:
            return False


def _parse(*texts: str) -> tuple[tuple[ast.AST, ...], ...]:
    """Returns the syntax of some texts: expressions if all are expressions, statements otherwise."""
    try:
        return tuple((ast.parse(text, mode="eval").body,) for text in texts)
    except SyntaxError:
        return tuple(tuple(ast.parse(text).body) for text in texts)


def find_scopes(sources: Sources, function: str) -> Iterator[tuple[str, Scope, Names]]:
    """Yields the functions with a qualified name, each with its file and the names in scope."""
    package, _, name = function.rpartition(":")
    for file, module in sources.items():
        if not package or package in Path(file).parts[:2]:
            for scope in _find_qualified(module, name.split(".")):
                yield file, scope, Names.of(scope, module)


def _find_qualified(tree: ast.AST, names: list[str]) -> Iterator[Scope]:
    """Yields the functions and classes in a tree that have a qualified name."""
    first, *rest = names
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Scope) and node.name == first:
            yield from _find_qualified(node, rest) if rest else (node,)
        elif isinstance(node, ast.If):
            yield from _find_qualified(node, names)
