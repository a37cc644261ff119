"""``docs/lifting.md``: which functions run inside the engines, generated from the test cases."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from inspect import getdoc
from operator import attrgetter, itemgetter
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
from tests.support.lifting.not_lifted import NOT_LIFTED
from tests.support.lifting.rows import Edge

PATH: Final = Path(__file__).parents[1] / "lifting.md"

_HEAD: Final = """\
# What runs inside the engines

`make docs` generates this page from the cases of `tests/spark/test_lifted_columns.py` and
`tests/polars/test_lifted_expressions.py`. Each case compares Spark, and the local engine on Polars, with Python on
hundreds of rows of edge values: limits of 64 bits, NaN, infinities and -0.0, text beyond ASCII, years 1 to 9999,
daylight-saving transitions, `None`. Spark is tested with its ANSI mode on and off, in two time zones, and with compiled
and interpreted expressions.

A lifted function becomes Spark columns, or expressions of Polars. A function that is not lifted runs in Python over
Arrow batches, with the same result. `explain()` of Spark's and of the local engine's frames names the functions that
are not lifted, with the reason and the source location. The log `flowalg.lifting` names each of them once, and with
`require_lifted=True` (of `batch.compile`, `streaming.compile`, and the local `streaming.batches` and `run`) they are an
`UnsupportedError`.

- A lifted function returns exactly what Python returns, bit for bit. Where Python raises, or where an integer to be
  stored exceeds 64 bits, the query fails with a message that names the location in the function. The only difference:
  an engine does not compute a field that no later step reads, so an error in that field does not occur.
- A *captured* variable has the value of the time when the pipeline is compiled, even if it is reassigned later. A
  `PTransform` that is applied again keeps the value that it had. Only immutable values are captured, and
  [dictionaries and sets that their module only reads](#dictionaries).
- Elements are instances of exactly the class that a collection declares, so the methods of that class run.
- The syntax is read from the source file. The file is compiled again, and the result must contain the code of the
  function. This relies on no property of a version's bytecode. CPython 3.11 to 3.14 is supported; under any
  other version, and for code without a file, every function runs in Python.
- If a `map` builds a record or a tuple, and needs Python only for parts of it that are calls, such as
  `Row(e.x, channel_of(e.s))`, Python computes these calls from the columns of their arguments, and the rest is columns.
- In the expressions below, `e` is an element. `flowalg/lifting/tree/primitives.py` lists the primitive operations.
"""

_STEPS: Final = """\
## In one kind of step

The result of a `flat_map` may be a list comprehension over one list, with or without `enumerate`. It is a row for each
item of the list, which is then filtered and mapped. `tests/core/test_comprehensions.py` compares these with the
reference, on batches and on streams of the local engine, and `tests/spark/test_comprehensions.py` compares the rows of
Spark's streams with those of the same functions in Python:

```text
[word.strip(",.") for word in e.s.split()]
[(e.s, number + 1) for number in e.xs if number > e.x]
[(place, text) for place, text in enumerate(e.words, start=1)]
```

A function of `collect` may return `Some(x)`, `Nothing` and `Maybe.from_optional(x)`: columns that may be null.

A function of `map_with`, `filter_with` or `flat_map_with` may look keys up in the mapping `view` of a side input. In a
batch, and on a local stream, a join on the window and the key finds their values. The key must not fail, and is a
boolean, an integer, a text or a time. `tests/core/test_lookups.py` compares these with the reference:

```text
view[e.s]
view.get(e.x % 10_000)
view.get(e.s, 0)
e.s in view
```

"""

_LEFT: Final = """\
## Left to Python

`explain()` prints the reason.

| function | reason | explanation |
| --- | --- | --- |"""


def page() -> str:
    """Returns the whole page."""
    return "\n".join(
        [_HEAD, *(line for family in FAMILIES for line in _family(family)), _STEPS + _LEFT, *_left(), ""]
    )


def _family(family: Family) -> Iterator[str]:
    yield f"## {family.title}\n"
    yield family.notes + "\n"
    expressions = [f for f in family.functions if getattr(f, "__name__", "<lambda>") == "<lambda>"]
    if expressions:
        yield "```text"
        yield from map(_show, expressions)
        yield "```\n"
    yield from (f"- {_show(f)}" for f in family.functions if f not in expressions)
    if len(expressions) < len(family.functions):
        yield ""


def _left() -> Iterator[str]:
    for left in NOT_LIFTED:
        opaque = first_opaque(lift(Call(left.function), (Param(shape_of(Edge)),)))
        assert opaque is not None
        text = _show(left.function)
        cells = (text if text.startswith("`") else f"`{text}`", opaque.reason, left.why)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _show(f: Callable[..., object]) -> str:
    """Returns the expression of a lambda, or the name of a function with the first line of its docstring.

    A partial call or a getter is shown as it is made.
    """
    if isinstance(f, partial):
        named = (f"{name}={value!r}" for name, value in f.keywords.items())
        return f"partial({', '.join((f.func.__name__, *map(repr, f.args), *named))})"
    if isinstance(f, attrgetter | itemgetter):
        return repr(f).removeprefix("operator.")
    match syntax_of(f):
        case Success(ast.Lambda(body=body)):
            return ast.unparse(body)
        case _:
            return f"`{f.__name__}`: {(getdoc(f) or '').splitlines()[0]}"
