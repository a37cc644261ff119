"""Names of Python syntax, for messages."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

_SYMBOLS: Final[Mapping[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.UAdd: "+",
    ast.USub: "-",
    ast.Invert: "~",
}
_EXPRESSIONS: Final[Mapping[type[ast.expr], str]] = {
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.Lambda: "a nested lambda",
    ast.NamedExpr: "an assignment expression",
    ast.Dict: "a dict display",
    ast.Set: "a set display",
    ast.Starred: "an unpacked argument",
}


def symbol_of(operator: ast.operator | ast.unaryop) -> str:
    """Returns the symbol of an operator: ``+``."""
    return _SYMBOLS.get(type(operator), type(operator).__name__)


def describe_expression(node: ast.expr) -> str:
    """Returns the name of a kind of expression: ``a list comprehension``."""
    return _EXPRESSIONS.get(type(node), f"the expression `{ast.unparse(node)}`")


def describe_statement(node: ast.stmt) -> str:
    """Returns the name of a kind of statement: ``for``."""
    return type(node).__name__.lower()
