"""The scope at one location of a function that is being lifted: its names, and which optionals are ``None`` or not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, MappingProxyType
from typing import Final, TypeAlias

from attrs import evolve, frozen

from flowalg.data.shapes import Shape
from flowalg.lifting.python.captured_values import MISSING, resolve_attribute
from flowalg.lifting.tree.expressions import Expr, Opaque
from flowalg.lifting.tree.narrowing import non_null_given, null_given

Inline: TypeAlias = Callable[[FunctionType, tuple[Expr, ...], Mapping[str, Expr], tuple[CodeType, ...]], Expr]
"""Lifts a call: the function, its positional and named arguments, and the functions that are being inlined."""

Constructors: TypeAlias = "Mapping[type, Callable[[ast.Call, Scope], Expr]]"
"""The functions that lift calls, by the class that is called."""

NO_CONSTRUCTORS: Final[Constructors] = MappingProxyType({})

_TYPE_TESTS: Final = frozenset({"hasattr", "getattr", "isinstance", "issubclass", "type", "attrs"})


@frozen
class Scope:
    """The scope at one location of a function.

    ``where`` describes the function, ``names`` are its parameters and the variables so far, as expressions, and
    ``captured`` returns the value of any other name. ``constructors`` lift calls of classes of which elements have no
    instances, such as timers.
    """

    where: str
    captured: Callable[[str], object]
    names: Mapping[str, Expr]
    inline: Inline
    inside: tuple[CodeType, ...]
    present: frozenset[Expr] = frozenset()
    absent: frozenset[Expr] = frozenset()
    forks: int = 0
    constructors: Constructors = NO_CONSTRUCTORS

    def location(self, node: ast.expr | ast.stmt) -> str:
        """Returns the source location of a node, for messages."""
        name, separator, line = self.where.rpartition(":")
        return f"{name}:{node.lineno}" if separator and line.isdigit() else self.where

    def opaque(self, node: ast.expr | ast.stmt, reason: str, shape: Shape | None = None) -> Opaque:
        """Returns an opaque expression for a node that only Python can compute."""
        return Opaque(shape, reason, self.location(node))

    def with_variable(self, name: str, value: Expr) -> Scope:
        """Returns the scope after an assignment."""
        return evolve(self, names={**self.names, name: value})

    def assuming(self, condition: Expr, outcome: bool) -> Scope:
        """Returns the scope in which a condition had the outcome."""
        return evolve(
            self,
            present=self.present | non_null_given(condition, outcome),
            absent=self.absent | null_given(condition, outcome),
        )

    @property
    def tests_types(self) -> bool:
        """Whether the function, or one that calls it, asks for types or attributes before it reads them."""
        return any(not _TYPE_TESTS.isdisjoint(code.co_names) for code in self.inside)

    def resolve(self, node: ast.expr) -> object:
        """Returns the captured value of a name or of an attribute of it; ``MISSING`` if it has none at compile time."""
        match node:
            case ast.Name(id=name) if name not in self.names:
                return self.captured(name)
            case ast.Attribute(value=value, attr=attr):
                owner = self.resolve(value)
                attribute = MISSING if owner is MISSING else resolve_attribute(owner, attr)
                return attribute.__func__ if isinstance(attribute, staticmethod) else attribute
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case _:
                return MISSING
