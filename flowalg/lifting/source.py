"""The syntax of a function, proved to be the code that would run.

A function's file may have been edited since it was imported, and one line may hold several lambdas. So the
syntax found for a function is compiled again, by the running interpreter, and must give the very same
bytecode, constants and names; otherwise there is no syntax, and the function stays ordinary Python. That is
all that is relied on, so it holds for any version of Python.
"""

from __future__ import annotations
import __future__

import ast
import linecache
from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from types import CodeType, FunctionType
from typing import Final

from returns.result import Failure, Result, Success

Syntax = ast.Lambda | ast.FunctionDef

_FUTURE_FLAGS: Final = reduce(
    lambda flags, name: flags | int(getattr(__future__, name).compiler_flag), __future__.all_feature_names, 0
)
_GENERATOR_OR_COROUTINE: Final = 0x20 | 0x80 | 0x100 | 0x200
_ARGUMENT_FLAGS: Final = 0x04 | 0x08


def syntax_of(f: Callable[..., object]) -> Result[Syntax, str]:
    """The lambda or ``def`` that ``f`` was compiled from, or the reason why it cannot be known."""
    if not isinstance(f, FunctionType):
        return Failure(f"{type(f).__name__} objects have no Python source")
    code = f.__code__
    if code.co_flags & _GENERATOR_OR_COROUTINE:
        return Failure("it is a generator or a coroutine")
    if code.co_flags & _ARGUMENT_FLAGS or code.co_kwonlyargcount or f.__defaults__:
        return Failure("it has default, keyword-only or variable arguments")
    tree = _parse("".join(linecache.getlines(code.co_filename, f.__globals__)))
    if tree is None:
        return Failure("its source is not available")
    for candidate in _functions_at(tree, code.co_firstlineno):
        if _compiles_to(candidate, code):
            return Success(candidate)
    return Failure("its source on disk is not the code that is loaded")


@lru_cache(maxsize=256)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if text else None
    except (SyntaxError, ValueError):
        return None


def _functions_at(tree: ast.Module, line: int) -> Iterator[Syntax]:
    for node in ast.walk(tree):
        if isinstance(node, Syntax) and node.lineno == line:
            yield node


def _compiles_to(candidate: Syntax, code: CodeType) -> bool:
    """Whether compiling the candidate, with the same variables captured, gives the same code."""
    inner: list[ast.stmt] = [candidate] if isinstance(candidate, ast.FunctionDef) else [ast.Expr(candidate)]
    captured = [ast.arg(arg=name) for name in code.co_freevars]
    outer = ast.parse("def outer(): pass")
    definition = outer.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.args.args = captured
    definition.body = inner
    try:
        compiled = compile(
            ast.fix_missing_locations(outer),
            code.co_filename,
            "exec",
            flags=code.co_flags & _FUTURE_FLAGS,
            dont_inherit=True,
        )
    except (SyntaxError, ValueError):
        return False
    return any(_same(one, code) for holder in _codes(compiled) for one in _codes(holder))


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def _same(one: CodeType, other: CodeType) -> bool:
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and one.co_freevars == other.co_freevars
        and one.co_cellvars == other.co_cellvars
        and one.co_argcount == other.co_argcount
        and len(one.co_consts) == len(other.co_consts)
        and all(_same_constant(a, b) for a, b in zip(one.co_consts, other.co_consts, strict=True))
    )


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _same(one, other)
    return type(one) is type(other) and repr(one) == repr(other)


__all__ = ["Syntax", "syntax_of"]
