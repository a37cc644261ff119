"""How a computation ends: whether it frees its keys, and knows the end of the input, as far as its syntax shows."""

from __future__ import annotations

import ast
from collections.abc import Callable

from returns.result import Success

from flowalg.computations.computation import AnyComputation
from flowalg.lifting.python.source import syntax_of


def frees_keys(computation: AnyComputation) -> bool:
    """Returns whether a function of a computation is seen to return a ``Transition`` whose state may be ``None``.

    It is a function itself that is read, and not the functions that it calls.
    """
    functions = (computation.on_element, computation.on_timer, computation.on_retraction)
    return any(f is not None and _frees_key(f) for f in functions)


def observes_end(on_timer: Callable[..., object]) -> bool:
    """Returns whether ``on_timer`` is seen to read whether the input has ended; only the function itself is read."""
    syntax = syntax_of(on_timer if hasattr(on_timer, "__code__") else type(on_timer).__call__)
    return isinstance(syntax, Success) and any(
        isinstance(node, ast.Attribute) and node.attr == "input_ended" for node in ast.walk(syntax.unwrap())
    )


def _frees_key(f: Callable[..., object]) -> bool:
    syntax = syntax_of(f if hasattr(f, "__code__") else type(f).__call__)
    return isinstance(syntax, Success) and any(map(_is_freeing, ast.walk(syntax.unwrap())))


def _is_freeing(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name("Transition") | ast.Attribute(attr="Transition")):
            states = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "state")]
            return any(isinstance(part, ast.Constant) and part.value is None for part in _parts(states))
        case _:
            return False


def _parts(expressions: list[ast.expr]) -> list[ast.AST]:
    return [part for expression in expressions for part in ast.walk(expression)]
