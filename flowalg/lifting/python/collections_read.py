"""Dictionaries and sets that the module that makes them only reads, so that they are constants.

Any other use may change a dictionary: by another name of it, or in a function that it is passed to. A module that
imports a dictionary must only read it too.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import resolve_name
from types import FunctionType, MappingProxyType
from typing import Final

from flowalg.lifting.python.source import module_of, syntax_of_module

_READING: Final = frozenset({"get", "keys", "values", "items", "copy"})
"""Methods that change nothing, and return nothing through which the collection could be changed."""
_READERS: Final = frozenset({"len", "sorted", "list", "tuple", "set", "frozenset", "dict"})
"""Functions that do the same."""
_INTROSPECTION: Final = frozenset({"globals", "vars", "locals", "eval", "exec", "__dict__", "modules", "*"})
"""Names that give access to a variable without naming it."""


def as_constant(f: FunctionType, name: str, value: object) -> object:
    """Returns a dictionary or a set read-only if the modules that know it only read it; any other value unchanged."""
    if type(value) not in (dict, set) or name in f.__code__.co_freevars or name not in f.__globals__:
        return value
    if not _is_only_read(f.__globals__, module_of(f), name):
        return value
    match value:
        case dict():
            return MappingProxyType({**value})
        case set():
            return frozenset(value)
        case _:
            return value


def _is_only_read(variables: Mapping[str, object], module: ast.Module | None, name: str) -> bool:
    """Returns whether a module, and those through which it imports a name, only read the collection of that name."""
    collections = {} if module is None else _only_read(module)
    if name not in collections:
        return False
    imported = collections[name]
    if imported is None:
        return True
    package = str(variables.get("__package__") or "")
    owner = sys.modules.get(resolve_name("." * imported.level + (imported.module or ""), package))
    [original] = (alias.name for alias in imported.names if name == (alias.asname or alias.name))
    return owner is not None and _is_only_read(vars(owner), syntax_of_module(owner), original)


@lru_cache(maxsize=128)
def _only_read(module: ast.Module) -> Mapping[str, ast.ImportFrom | None]:
    """Returns the names that a module binds once and otherwise only reads, with the statements that import them.

    A name without such a statement is bound to a display of a dictionary or a set.
    """
    bound = Counter(_bound(module))
    if _INTROSPECTION & bound.keys() or _INTROSPECTION & {*_mentioned(module)}:
        return {}
    read = {id(name) for name in _reads(module, _READERS - bound.keys())}
    used = {
        node.id
        for node in ast.walk(module)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store) and id(node) not in read
    }
    return {name: node for name, node in _collections(module) if bound[name] == 1 and name not in used}


def _collections(module: ast.Module) -> Iterator[tuple[str, ast.ImportFrom | None]]:
    """Yields the names to which the statements of a module assign a display, and those that they import."""
    for statement in module.body:
        match statement:
            case ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name, statement) for alias in names)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if isinstance(value, ast.Dict | ast.Set | ast.DictComp | ast.SetComp):
                yield name, None
            case _:
                pass


def _bound(module: ast.Module) -> Iterator[str]:
    """Yields each name that a module binds, at each place where it does."""
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=alias):
                yield alias or name.partition(".")[0]
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name
            case _:
                pass


def _mentioned(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case _:
                pass


def _reads(module: ast.Module, readers: frozenset[str]) -> Iterator[ast.expr]:
    """Yields the expressions of a module that are certainly only read where they are."""
    for node in ast.walk(module):
        match node:
            case ast.Subscript(value=value, ctx=ast.Load()):
                yield value
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in _READING:
                yield value
            case ast.Call(func=ast.Name(id=name), args=[value]) if name in readers:
                yield value
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[value]):
                yield value
            case ast.For(iter=value) | ast.comprehension(iter=value):
                yield value
            case _:
                pass
