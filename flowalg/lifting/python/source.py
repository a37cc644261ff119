"""The syntax of a function, verified to be the source of the code that runs.

A file may have been edited since it was imported, and one line may contain several lambdas. So the running
interpreter compiles the file again, and the result must contain the code of the function: the same bytecode,
constants and names at the same positions. Otherwise the function has no known syntax and runs in Python. This relies
on no property of a version's bytecode, only on the meaning of syntax in the known versions; under any other version
all functions run in Python.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias

from attrs import frozen
from returns.result import Failure, Result, Success

Syntax: TypeAlias = ast.Lambda | ast.FunctionDef

Version: TypeAlias = tuple[str, int, int]
"""An implementation of Python, with its major and minor version."""

KNOWN: Final[tuple[Version, ...]] = tuple(("cpython", 3, minor) for minor in (11, 12, 13, 14))
"""The Python versions whose syntax lifting supports, and on which it is tested."""

RUNNING: Final[Version] = (sys.implementation.name, *sys.version_info[:2])

_GENERATOR_OR_COROUTINE: Final = 0x20 | 0x80 | 0x100 | 0x200
_VARIABLE_ARGUMENTS: Final = 0x04 | 0x08


@frozen
class _File:
    """The syntax of a file, the functions in it, and all code objects that it compiles to."""

    module: ast.Module
    functions: tuple[Syntax, ...]
    codes: tuple[CodeType, ...]


def syntax_of(f: Callable[..., object], version: Version = RUNNING) -> Result[Syntax, str]:
    """Returns the lambda or ``def`` that ``f`` was compiled from, or the reason why it is unknown."""
    if version not in KNOWN:
        return Failure(f"lifting does not support {version[0]} {version[1]}.{version[2]}")
    if not isinstance(f, FunctionType):
        return Failure(f"{type(f).__name__} has no Python source")
    code = f.__code__
    if code.co_flags & _GENERATOR_OR_COROUTINE:
        return Failure("a generator or coroutine")
    if code.co_flags & _VARIABLE_ARGUMENTS:
        return Failure("variable arguments")
    file = _file_of(f)
    if file is None:
        return Failure("source that is not available")
    if not any(_is_same(candidate, code) for candidate in file.codes):
        return Failure("a source file that differs from the code that is loaded")
    places = _places(code)
    candidates = [node for node in file.functions if _contains(node, places)]
    if candidates:
        return Success(min(candidates, key=_extent))
    # Python 3.12 gives no column positions for a lambda whose body is a constant.
    lambdas = [
        function
        for function in file.functions
        if isinstance(function, ast.Lambda) and function.lineno == code.co_firstlineno
    ]
    if len(lambdas) == 1 and code.co_name == "<lambda>":
        return Success(lambdas[0])
    return Failure("an ambiguous location in its source file")


def module_of(f: FunctionType) -> ast.Module | None:
    """Returns the syntax of the file that a function was compiled from; ``None`` if it differs from the code."""
    file = _file_of(f)
    is_same = file is not None and any(_is_same(candidate, f.__code__) for candidate in file.codes)
    return file.module if file is not None and is_same else None


def syntax_of_module(module: ModuleType) -> ast.Module | None:
    """Returns the syntax of the file of a module; ``None`` if it differs from the code of one of its functions."""
    name = vars(module).get("__file__")
    if not isinstance(name, str):
        return None
    file = _read_file(name, vars(module))
    own = [f for f in vars(module).values() if isinstance(f, FunctionType) and f.__globals__ is vars(module)]
    is_same = file is not None and all(module_of(f) is file.module for f in own)
    return file.module if file is not None and is_same else None


def _file_of(f: FunctionType) -> _File | None:
    return _read_file(f.__code__.co_filename, f.__globals__)


def _read_file(name: str, variables: dict[str, Any]) -> _File | None:
    return _compile("".join(linecache.getlines(name, variables)), name)


@lru_cache(maxsize=128)
def _compile(text: str, filename: str) -> _File | None:
    try:
        module = ast.parse(text)
        functions = tuple(node for node in ast.walk(module) if isinstance(node, Syntax))
        codes = tuple(_code_objects(compile(text, filename, "exec", dont_inherit=True)))
        return _File(module, functions, codes) if text else None
    except (SyntaxError, ValueError):
        return None


def _code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_objects(constant)


def _is_same(left: CodeType, right: CodeType) -> bool:
    return (
        left.co_firstlineno == right.co_firstlineno
        and left.co_code == right.co_code
        and left.co_names == right.co_names
        and left.co_varnames == right.co_varnames
        and left.co_freevars == right.co_freevars
        and left.co_cellvars == right.co_cellvars
        and left.co_argcount == right.co_argcount
        and len(left.co_consts) == len(right.co_consts)
        and all(_is_same_constant(a, b) for a, b in zip(left.co_consts, right.co_consts, strict=True))
        and list(left.co_positions()) == list(right.co_positions())
    )


def _is_same_constant(left: object, right: object) -> bool:
    if isinstance(left, CodeType) and isinstance(right, CodeType):
        return _is_same(left, right)
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        # A compiled file (``.pyc``) stores the items of a set in another order than the compiler.
        return sorted(map(repr, left)) == sorted(map(repr, right))
    return type(left) is type(right) and repr(left) == repr(right)


Span: TypeAlias = tuple[int, int, int, int]
Place: TypeAlias = tuple[int, int]
"""A line and a column."""


def _extent(node: Syntax) -> tuple[int, int]:
    """Returns the length of a function's text: lines, then columns."""
    line, end_line, column, end_column = _span(node)
    return end_line - line, end_column - column


def _span(node: Syntax) -> Span:
    first = node.body if isinstance(node.body, ast.expr) else node.body[0]
    return (
        first.lineno,
        node.end_lineno or first.lineno,
        first.col_offset,
        node.end_col_offset or first.col_offset,
    )


def _places(code: CodeType) -> list[tuple[Place, Place]]:
    """Returns where the source text of each instruction starts and ends.

    Instructions without source text, such as the first and the last, have an empty range.
    """
    return [
        (first, last)
        for start, end, column, stop in code.co_positions()
        if start is not None and end is not None and column is not None and stop is not None
        if (first := (start, column)) < (last := (end, stop))
    ]


def _contains(node: Syntax, places: list[tuple[Place, Place]]) -> bool:
    """Returns whether every instruction lies inside the body of the function."""
    line, end_line, column, end_column = _span(node)
    return bool(places) and all(
        (line, column) <= first and last <= (end_line, end_column) for first, last in places
    )
