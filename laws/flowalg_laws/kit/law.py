"""Laws: named equations of the algebra, with their statement, their condition, and the code that relies on them.

A law is a function from its variables to the two sides of an equation. Its docstring states the law; paragraphs that
begin with ``Where:``, ``Source:`` and ``Relied on by:`` state its side condition, its origin, and the parts of the
project that would be wrong without it. A law depends on no test framework; ``flowalg_laws.checks.check`` tests laws on
generated values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Final, Generic, ParamSpec, TypeVar

from attrs import field, frozen

from flowalg.data.errors import ArgumentError
from flowalg_laws.kit.equation import Equation

P = ParamSpec("P")
A_co = TypeVar("A_co", covariant=True)

_PARTS: Final = ("Where", "Source", "Relied on by")


@frozen
class Law(Generic[P, A_co]):
    """An equation; calling it with values of its variables returns the two sides."""

    sides: Callable[P, Equation[A_co] | None] = field(repr=False)
    name: str
    statement: str
    condition: str
    source: str
    relied_on_by: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Equation[A_co] | None:
        """Returns the two sides for the values, or ``None`` if the values do not satisfy the side condition."""
        return self.sides(*args, **kwargs)

    def holds(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Returns whether the two sides are equal by ``==`` for the values, or the values do not satisfy the side
        condition.
        """
        sides = self.sides(*args, **kwargs)
        return sides is None or sides.left == sides.right

    def __str__(self) -> str:
        condition = f", where {self.condition}" if self.condition else ""
        return f"{self.name.replace('_', ' ')}: {self.statement}{condition}"


def law(sides: Callable[P, Equation[A_co] | None]) -> Law[P, A_co]:
    """Makes a law from a function; raises ``ArgumentError`` if its docstring has no statement or no source."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in (inspect.getdoc(sides) or "").split("\n\n")]
    parts = dict.fromkeys(_PARTS, "")
    statement: list[str] = []
    for paragraph in paragraphs:
        part, colon, text = paragraph.partition(": ")
        if colon and part in parts:
            parts[part] = text.rstrip(".")
        else:
            statement.append(paragraph.rstrip("."))
    name = getattr(sides, "__name__", repr(sides))
    if not any(statement) or not parts["Source"]:
        raise ArgumentError(
            f"the docstring of {name}", sides.__doc__, "a statement, and a paragraph 'Source: ...'"
        )
    return Law(sides, name, ". ".join(statement), parts["Where"], parts["Source"], parts["Relied on by"])
