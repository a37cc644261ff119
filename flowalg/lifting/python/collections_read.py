"""Dictionaries and sets that the module that makes them only reads, so that they are constants.

Any other use may change a dictionary: by another name of it, or in a function that it is passed to.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Final

from flowalg.lifting.python.source import module_of

_READING: Final = frozenset({"get", "keys", "values", "items", "copy"})
"""Methods that change nothing, and return nothing through which the collection could be changed."""
_READERS: Final = frozenset({"len", "sorted", "list", "tuple", "set", "frozenset", "dict"})
"""Functions that do the same."""
_INTROSPECTION: Final = frozenset({"globals", "vars", "locals", "eval", "exec", "__dict__", "modules", "*"})
"""Names that give access to a variable without naming it."""


def as_constant(f: FunctionType, name: str, value: object) -> object:
    """Returns a dictionary or a set read-only if the module of ``f`` only reads it; any other value unchanged."""
    if type(value) not in (dict, set) or name in f.__code__.co_freevars or name not in f.__globals__:
        return value
    module = module_of(f)
    if module is None or name not in _only_read(module):
        return value
    match value:
        case dict():
            return MappingProxyType({**value})
        case set():
            return frozenset(value)
        case _:
            return value


@lru_cache(maxsize=128)
def _only_read(module: ast.Module) -> frozenset[str]:
    """Returns the names that a module binds once, to a display of a dictionary or a set, and otherwise only reads."""
    bound = Counter(_bound(module))
    if _INTROSPECTION & bound.keys() or _INTROSPECTION & {*_mentioned(module)}:
        return frozenset()
    read = {id(name) for name in _reads(module, _READERS - bound.keys())}
    used = {
        node.id
        for node in ast.walk(module)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store) and id(node) not in read
    }
    return frozenset(name for name in _displays(module) if bound[name] == 1 and name not in used)


def _displays(module: ast.Module) -> Iterator[str]:
    """Yields the names to which the statements of a module assign a display."""
    for statement in module.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if isinstance(value, ast.Dict | ast.Set | ast.DictComp | ast.SetComp):
                yield name
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
