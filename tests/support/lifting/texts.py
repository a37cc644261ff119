"""Text and lists."""

from __future__ import annotations

from typing import Final

from tests.support.lifting.family import Family

SEPARATOR: Final = "-"
SUFFIXES: Final = ("b", "語")

FAMILIES: Final = (
    Family(
        "Text",
        "Counted in code points. Slices and indices have constant bounds; an index out of range fails. The string to "
        "replace, count, split at, strip or remove is a constant and, where it is searched for, not empty. Whitespace "
        "is defined by the running Python.",
        (
            lambda e: e.s + e.t,
            lambda e: e.s + "ß" + e.t,
            lambda e: len(e.s),
            lambda e: len(e.s) * 2 - 1,
            lambda e: e.s.startswith(e.t),
            lambda e: e.s.startswith("a"),
            lambda e: e.s.endswith(e.t),
            lambda e: e.s.endswith(SUFFIXES),
            lambda e: e.t in e.s,
            lambda e: "a" not in e.s,
            lambda e: e.s.find(e.t),
            lambda e: e.s.find("b"),
            lambda e: e.s.count("a"),
            lambda e: e.s.count("aa"),
            lambda e: (e.s + e.s).count("ab"),
            lambda e: e.s.replace("a", e.t),
            lambda e: e.s.replace("ab", ""),
            lambda e: e.s.removeprefix("a"),
            lambda e: e.s.removesuffix("b"),
            lambda e: e.s.strip(),
            lambda e: e.s.lstrip(),
            lambda e: e.s.rstrip(),
            lambda e: e.s.strip("ab"),
            lambda e: e.s.lstrip("a"),
            lambda e: e.s.rstrip("\U0001f600b"),
            lambda e: e.s.strip(""),
            lambda e: e.s[0],
            lambda e: e.s[-2],
            lambda e: e.s[1:],
            lambda e: e.s[:2],
            lambda e: e.s[1:3],
            lambda e: e.s[-2:],
            lambda e: e.s[:-1],
            lambda e: e.s[-3:-1],
            lambda e: e.s[2:1],
            lambda e: e.s[:],
            lambda e: min(e.s, e.t),
            lambda e: str(e.x),
            lambda e: str(e.x * e.y),
            lambda e: str(e.b),
            lambda e: str(e.s),
            lambda e: f"{e.s}: {e.x} of {e.b!s}",
            lambda e: f"",  # noqa: F541
            lambda e: f"{e.x + e.y}",
            lambda e: SEPARATOR.join((e.s, e.t, "end")),
            lambda e: ", ".join([e.s, str(e.x)]),
        ),
    ),
    Family(
        "Lists and tuples",
        "All items of a list have the same shape. Indices are constants; an index out of range fails.",
        (
            lambda e: e.s.split(","),
            lambda e: e.s.split("ab"),
            lambda e: e.s.split(),
            lambda e: e.s.split(",")[0],
            lambda e: e.s.split()[-1],
            lambda e: len(e.s.split(",")),
            lambda e: [e.x, e.y + 1],
            lambda e: [e.s, e.t],
            lambda e: [e.inner, e.inner],
            lambda e: e.xs,
            lambda e: e.xs[0],
            lambda e: e.xs[-1] + 1,
            lambda e: len(e.xs),
            lambda e: e.x in e.xs,
            lambda e: "a" in e.words,
            lambda e: bool(e.xs),
            lambda e: e.pair,
            lambda e: e.pair[0] + 1,
            lambda e: e.pair[-1],
            lambda e: (e.x, e.s),
            lambda e: (e.x, e.s)[1],
            lambda e: (e.x, (e.s, e.inner)),
        ),
    ),
)
