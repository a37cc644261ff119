"""What is known at one place of a function that is being lifted: its names, and which optionals have values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import TypeAlias

from attrs import evolve, frozen

from flowalg.data.shapes import Shape
from flowalg.lifting.python.captured import MISSING, attribute_of
from flowalg.lifting.tree.expressions import Expr, Opaque
from flowalg.lifting.tree.narrowing import known_present

Inline: TypeAlias = Callable[[FunctionType, tuple[Expr, ...], Mapping[str, Expr], tuple[CodeType, ...]], Expr]
"""The expression of a call: the function, its arguments, and the functions that are being lifted around it."""


@frozen
class Scope:
    """A place in a function.

    ``where`` says which function, ``names`` are its parameters and variables so far, as expressions, and ``captured``
    gives what other names stand for.
    """

    where: str
    captured: Callable[[str], object]
    names: Mapping[str, Expr]
    inline: Inline
    inside: tuple[CodeType, ...]
    present: frozenset[Expr] = frozenset()
    forks: int = 0

    def place(self, node: ast.expr | ast.stmt) -> str:
        """Where a piece of syntax stands, as messages give it."""
        name, separator, line = self.where.rpartition(":")
        return f"{name}:{node.lineno}" if separator and line.isdigit() else self.where

    def opaque(self, node: ast.expr | ast.stmt, reason: str, shape: Shape | None = None) -> Opaque:
        """What only Python can compute, at a piece of syntax."""
        return Opaque(shape, reason, self.place(node))

    def bound(self, name: str, value: Expr) -> Scope:
        """The place after an assignment."""
        return evolve(self, names={**self.names, name: value})

    def given(self, condition: Expr, outcome: bool) -> Scope:
        """The place where a condition has come out so."""
        return evolve(self, present=self.present | known_present(condition, outcome))

    def resolve(self, node: ast.expr) -> object:
        """What a name that is no variable, or an attribute of such, stands for when the pipeline is compiled."""
        match node:
            case ast.Name(id=name) if name not in self.names:
                return self.captured(name)
            case ast.Attribute(value=value, attr=attr):
                owner = self.resolve(value)
                found = MISSING if owner is MISSING else attribute_of(owner, attr)
                return found.__func__ if isinstance(found, staticmethod) else found
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case _:
                return MISSING


__all__ = ["Inline", "Scope"]
