"""The syntax of a function, proved to be the code that would run.

A function's file may have been edited since it was imported, and one line may hold several lambdas. So the whole
file is compiled again by the running interpreter, and must contain the very code that the function has: the same
bytecode, constants and names, at the same positions. Otherwise there is no syntax, and the function stays ordinary
Python. Nothing about the bytecode of a version is relied on, only that syntax means what it has meant in the versions
that are known; under any other the function stays ordinary Python too.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Final, TypeAlias

from attrs import frozen
from returns.result import Failure, Result, Success

Syntax: TypeAlias = ast.Lambda | ast.FunctionDef

Version: TypeAlias = tuple[str, int, int]
"""An implementation of Python, and the first two numbers of its version."""

KNOWN: Final[tuple[Version, ...]] = (("cpython", 3, 11), ("cpython", 3, 12), ("cpython", 3, 13))
"""The interpreters whose syntax lifting knows, and on which it is tested."""

RUNNING: Final[Version] = (sys.implementation.name, *sys.version_info[:2])

_GENERATOR_OR_COROUTINE: Final = 0x20 | 0x80 | 0x100 | 0x200
_VARIABLE_ARGUMENTS: Final = 0x04 | 0x08


@frozen
class _File:
    """The functions in a file's syntax, and every piece of code that it compiles to."""

    functions: tuple[Syntax, ...]
    codes: tuple[CodeType, ...]


def syntax_of(f: Callable[..., object], version: Version = RUNNING) -> Result[Syntax, str]:
    """The lambda or ``def`` that ``f`` was compiled from, or the reason why it cannot be known."""
    if version not in KNOWN:
        return Failure(f"{version[0]} {version[1]}.{version[2]} is no version of Python that lifting knows")
    if not isinstance(f, FunctionType):
        return Failure(f"{type(f).__name__} objects have no Python source")
    code = f.__code__
    if code.co_flags & _GENERATOR_OR_COROUTINE:
        return Failure("it is a generator or a coroutine")
    if code.co_flags & _VARIABLE_ARGUMENTS or code.co_kwonlyargcount or f.__defaults__:
        return Failure("it has default, keyword-only or variable arguments")
    file = _compiled("".join(linecache.getlines(code.co_filename, f.__globals__)), code.co_filename)
    if file is None:
        return Failure("its source is not available")
    if not any(_same(one, code) for one in file.codes):
        return Failure("its source on disk is not the code that is loaded")
    candidates = [node for node in file.functions if _spans(node, code)]
    if candidates:
        return Success(min(candidates, key=_extent))
    # Python 3.12 gives a lambda that is nothing but a constant no place in its line.
    lambdas = [
        function
        for function in file.functions
        if isinstance(function, ast.Lambda) and function.lineno == code.co_firstlineno
    ]
    if len(lambdas) == 1 and code.co_name == "<lambda>":
        return Success(lambdas[0])
    return Failure("its place in its source cannot be told")


@lru_cache(maxsize=128)
def _compiled(text: str, filename: str) -> _File | None:
    try:
        functions = tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, Syntax))
        codes = tuple(_codes(compile(text, filename, "exec", dont_inherit=True)))
        return _File(functions, codes) if text else None
    except (SyntaxError, ValueError):
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _same(one: CodeType, other: CodeType) -> bool:
    return (
        one.co_firstlineno == other.co_firstlineno
        and one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and one.co_freevars == other.co_freevars
        and one.co_cellvars == other.co_cellvars
        and one.co_argcount == other.co_argcount
        and len(one.co_consts) == len(other.co_consts)
        and all(_same_constant(a, b) for a, b in zip(one.co_consts, other.co_consts, strict=True))
        and list(one.co_positions()) == list(other.co_positions())
    )


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _same(one, other)
    return type(one) is type(other) and repr(one) == repr(other)


Span: TypeAlias = tuple[int, int, int, int]


def _extent(node: Syntax) -> tuple[int, int]:
    """How much text the function takes: lines, then columns."""
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


def _spans(node: Syntax, code: CodeType) -> bool:
    """Whether every instruction of the code stands inside the body of the function."""
    line, end_line, column, end_column = _span(node)
    places = [
        ((start, start_column), (end, stop))
        for start, end, start_column, stop in code.co_positions()
        if start is not None and end is not None and start_column is not None and stop is not None
    ]
    # Instructions that stand for no text, such as the first and the last, have an empty place.
    real = [(first, last) for first, last in places if first < last]
    return bool(real) and all(
        (line, column) <= first and last <= (end_line, end_column) for first, last in real
    )


__all__ = ["KNOWN", "RUNNING", "Syntax", "Version", "syntax_of"]
