"""``docs/lifting.md``: which functions run inside Spark, from the cases that the tests hold to Python."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from inspect import getdoc
from pathlib import Path
from typing import Final

from returns.result import Success

from flowalg.data.shapes import shape_of
from flowalg.elementwise.functions import Call
from flowalg.lifting.lift import lift
from flowalg.lifting.python.source import syntax_of
from flowalg.lifting.tree.expressions import Param, first_opaque
from tests.support.lifting.cases import FAMILIES
from tests.support.lifting.family import Family
from tests.support.lifting.left import LEFT
from tests.support.lifting.rows import Edge

PATH: Final = Path(__file__).parents[1] / "lifting.md"

_HEAD: Final = """\
# What runs inside Spark

Made by `make docs` from the cases that `tests/spark/test_lifted_columns.py` holds to Python, each over hundreds of rows
of edge values: limits of 64 bits, NaN, infinities and -0.0, text beyond ASCII, years 1 to 9999, changes of the clock,
`None`. It does so with Spark's ANSI mode on and off, in two time zones, with expressions compiled and interpreted.

A function that is lifted becomes columns, and `explain()` says so; of any other it says why not, and where. Such a
function runs in Python over Arrow batches, with the same result.

- A lifted function gives what Python gives, to the bit. Where Python raises, or an integer that is stored needs more
  than 64 bits, the query fails with a message that names the place in the function. Only what nobody reads may differ:
  Spark does not compute a field that no later step uses, and so does not fail in it.
- *Captured* means the value at the time when the pipeline is compiled. Only immutable values are captured. A global
  variable that is assigned anew later keeps, in Spark, the value that it had.
- Elements are of exactly the class that a collection declares, so that its methods are the ones that run.
- The syntax is read from the file, which is compiled again and must contain the very code that the function has. That
  relies on nothing about the bytecode of a version. CPython 3.11, 3.12 and 3.13 are known; under any other, and for
  code without a file, every function runs in Python.
- In the expressions `e` is an element. All of them are made of the operations in `flowalg/lifting/tree/primitives.py`.
"""

_LEFT: Final = """\
## Left to Python

The reason is what `explain()` says.

| function | reason | why so |
| --- | --- | --- |"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(line for family in FAMILIES for line in _family(family)), _LEFT, *_left(), ""])


def _family(family: Family) -> Iterator[str]:
    yield f"## {family.title}\n"
    yield family.notes + "\n"
    expressions = [f for f in family.functions if f.__name__ == "<lambda>"]
    if expressions:
        yield "```text"
        yield from map(_shown, expressions)
        yield "```\n"
    yield from (f"- {_shown(f)}" for f in family.functions if f not in expressions)
    if len(expressions) < len(family.functions):
        yield ""


def _left() -> Iterator[str]:
    for left in LEFT:
        opaque = first_opaque(lift(Call(left.function), (Param(shape_of(Edge)),)))
        assert opaque is not None
        shown = _shown(left.function)
        cells = (shown if shown.startswith("`") else f"`{shown}`", opaque.reason, left.why)
        yield f"| {' | '.join(one.replace('|', chr(92) + '|') for one in cells)} |"


def _shown(f: Callable[..., object]) -> str:
    """The expression of a lambda; the name of a function, and what it is said to be."""
    match syntax_of(f):
        case Success(ast.Lambda(body=body)):
            return ast.unparse(body)
        case _:
            return f"`{f.__name__}`: {(getdoc(f) or '').splitlines()[0]}"


__all__ = ["PATH", "page"]
