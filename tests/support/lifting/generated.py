"""Generates expressions over an ``Edge``, as source text."""

from __future__ import annotations

import importlib.util
import linecache
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from hypothesis import strategies as st

from flowalg.lifting.tree.expressions import first_opaque
from tests.support.lifting.edge_functions import lift_edge_function
from tests.support.lifting.family import EdgeFunction

_IMPORTS: Final = (
    "from datetime import UTC, date, datetime, timedelta\n"
    "from tests.support.lifting.rows import Kind, Inner\n"
    "HOUR = timedelta(hours=1)\n"
)


def _of(*forms: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draws one of several forms and fills in its parts."""
    return st.sampled_from(forms).flatmap(
        lambda form: st.fixed_dictionaries({name: parts[name] for name in parts if f"{{{name}" in form}).map(
            lambda chosen: form.format(**chosen)
        )
    )


def _level(depth: int) -> dict[str, st.SearchStrategy[str]]:
    """Returns expressions of each type with up to ``depth`` nested operations."""
    kinds = {
        "n": st.sampled_from(["e.x", "e.y", "e.inner.n", "e.pair[0]", "0", "1", "-3", "7", "1000"]),
        "f": st.sampled_from(["e.f", "e.g", "0.5", "-1.5", "0.0"]),
        "s": st.sampled_from(["e.s", "e.t", "e.inner.word", "'a'", "''", "'日'"]),
        "c": st.sampled_from(["e.b", "e.c", "e.m is None", "e.kind is Kind.RED", "True"]),
        "t": st.sampled_from(["e.at", "e.until"]),
        "d": st.sampled_from(["e.d", "HOUR", "timedelta(minutes=-7)"]),
        "o": st.sampled_from(["e.m", "e.m", "None"]),
    }
    for _ in range(depth):
        kinds = _next(kinds)
    return kinds


def _next(kinds: dict[str, st.SearchStrategy[str]]) -> dict[str, st.SearchStrategy[str]]:
    n, f, s, c, t, d, o = (kinds[name] for name in ("n", "f", "s", "c", "t", "d", "o"))
    return {
        "n": _of(
            *("({n} + {m})", "({n} - {m})", "({n} * {m})", "({n} // {m})", "({n} % {m})", "-{n}", "abs({n})"),
            *("min({n}, {m})", "max({n}, {m})", "len({s})", "({n} if {c} else {m})", "({n} or {m})"),
            *(
                "{t}.hour",
                "{t}.weekday()",
                "{d}.days",
                "({o} or {n})",
                "{s}.find({r})",
                "({n} and {m})",
                "{s}.count('a')",
            ),
            *("(e.m % 9 if e.m is not None else {n})", "(0 if not e.m else e.m - {n})", "int({c})"),
            **{"n": n, "m": n, "s": s, "r": s, "c": c, "t": t, "d": d, "o": o},
        ),
        "f": _of(
            *(
                "({f} + {g})",
                "({f} * {g})",
                "({f} / {g})",
                "({f} % {g})",
                "({f} // {g})",
                "({n} / {m})",
                "-{f}",
            ),
            *(
                "round({f}, 2)",
                "({n} * {f})",
                "float({n})",
                "({f} if {c} else {g})",
                "{d}.total_seconds()",
                "({f} or {g})",
            ),
            **{"n": n, "m": n, "f": f, "g": f, "c": c, "d": d},
        ),
        "s": _of(
            *(
                "({s} + {r})",
                "str({n})",
                'f"""{{{n}}}:"""',
                'f"""{{{f}:,.2f}}"""',
                "{s}.strip()",
                "{s}[1:]",
                "{s}[-2:]",
                "{s}[:2]",
            ),
            *("{s}.lower()", "{s}.upper()", "{s}.title()"),
            *("{s}.replace('a', {r})", "{s}.removeprefix('a')", "({s} if {c} else {r})", "({s} or {r})"),
            *("{t}.date().isoformat()", "e.kind.name", "(e.o or {s})", "min({s}, {r})", "{s}.strip('ab')"),
            **{"s": s, "r": s, "n": n, "f": f, "c": c, "t": t},
        ),
        "c": _of(
            *("({n} < {m})", "({n} == {m})", "({f} < {g})", "({f} != {g})", "({f} >= {g})", "({s} < {r})"),
            *(
                "({s} in {r})",
                "({c} and {b})",
                "({c} or {b})",
                "(not {c})",
                "({n} in (0, 1, {m}))",
                "bool({n})",
            ),
            *("(e.m is not None and e.m > {n})", "({o} == {n})", "({t} <= {u})", "({d} > {w})", "(not {s})"),
            *(
                "{s}.isalpha()",
                "{s}.islower()",
                "{s}.startswith({r})",
                "({n} < {m} <= 7)",
                "({f} == {f})",
                "({o} is None)",
                "({n} > 2.5)",
            ),
            **{"n": n, "m": n, "f": f, "g": f, "s": s, "r": s, "c": c, "b": c, "t": t, "u": t},
            **{"d": d, "w": d, "o": o},
        ),
        "t": _of(
            *(
                "({t} + {d})",
                "({t} - {d})",
                "({t} if {c} else {u})",
                "min({t}, {u})",
                "{t}.replace(minute=0)",
            ),
            **{"t": t, "u": t, "d": d, "c": c},
        ),
        "d": _of(
            *(
                "({t} - {u})",
                "({d} + {w})",
                "-{d}",
                "({d} * 3)",
                "({d} // 7)",
                "abs({d})",
                "({d} if {c} else {w})",
            ),
            **{"t": t, "u": t, "d": d, "w": d, "c": c},
        ),
        "o": _of(
            *("({n} if {c} else None)", "e.m", "(e.m if {c} else {n})"),
            **{"n": n, "c": c},
        ),
    }


def expressions(depth: int) -> st.SearchStrategy[str]:
    """Returns the source of an expression of any type."""
    kinds = _level(depth)
    return st.one_of(*(kinds[name] for name in ("n", "f", "s", "c", "t", "d")))


def compile_functions(sources: Sequence[str], directory: Path) -> list[EdgeFunction]:
    """Returns the functions of these expressions, from a file, so their syntax can be read."""
    path = directory / "generated_expressions.py"
    lines = "".join(f"    lambda e: {source},\n" for source in sources)
    path.write_text(f"{_IMPORTS}FUNCTIONS = [\n{lines}]\n", encoding="utf-8")
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location("generated_expressions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("list[EdgeFunction]", vars(module)["FUNCTIONS"])


def draw_lifted(data: st.DataObject, directory: Path) -> list[EdgeFunction]:
    """Draws functions of nested expressions, of which at least half are lifted, and returns those."""
    functions = compile_functions(data.draw(st.lists(expressions(2), min_size=20, max_size=20)), directory)
    lifted = [f for f in functions if first_opaque(lift_edge_function(f)) is None]
    assert len(lifted) >= len(functions) // 2
    return lifted
