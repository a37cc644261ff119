"""Text and lists."""

from __future__ import annotations

import re
from typing import Final

from tests.support.lifting.family import Family
from tests.support.lifting.rows import Edge

SEPARATOR: Final = "-"
COMMA: Final = re.compile(r"\s*,\s*")
NOT_WORD: Final = re.compile(r"[^\w]+", re.ASCII)
SUFFIXES: Final = ("b", "語")


def first_letters(e: Edge) -> str:
    """Returns the letters that a text begins with."""
    match = re.match(r"([a-z]+)(?:,|$)", e.s)
    return match.group(1) if match is not None else e.t


FAMILIES: Final = (
    Family(
        "Text",
        "Counted in code points. Slices have constant bounds; an index out of range fails. The string to "
        "replace, count, split at, strip or remove is a constant and, where it is searched for, not empty. Whitespace, "
        "case and other classes of characters are those of the running Python, whose version of Unicode need not be "
        "that of an engine. Formats fill numbers and texts up to a constant width, and write floats with at most 15 "
        "digits after the point.",
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
            lambda e: e.s.lower(),
            lambda e: (e.s + e.t).upper(),
            lambda e: e.s.casefold() == e.t.casefold(),
            lambda e: (e.s + e.t).title(),
            lambda e: e.s.capitalize(),
            lambda e: e.s.isdigit() or e.s.isdecimal() or e.s.isnumeric(),
            lambda e: e.s.isalpha() or e.t.isalnum(),
            lambda e: e.s.islower() or e.t.isupper(),
            lambda e: e.s.isspace() or (e.s.isascii() and e.s.isprintable()),
            lambda e: e.s[0],
            lambda e: e.s[-2],
            lambda e: e.s[e.x],
            lambda e: e.s[e.x % 5 - 2],
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
            lambda e: f"{e.x:5d}|{e.y:05}|{e.x:<4}|{e.s:6}|{e.t:*>3s}",
            lambda e: f"{e.f:.2f} {e.g:.0f} {e.x:f}",
            lambda e: f"{e.f / 1000 + 0.125:.2f} {e.g / 7:.15f}",
            lambda e: f"{e.f:,.3f}|{e.x:,}|{e.g:+,.0f}|{e.y:+d}",
            lambda e: f"{e.f:.1%}|{e.g:10.1f}|{e.f:<8.0f}|{e.g:+012.3f}|{e.f:*>7.1f}",
            lambda e: e.s.zfill(4) + str(e.x).zfill(21),
            lambda e: e.s.ljust(3) + e.t.rjust(5, "語") + e.s.rjust(-1),
            lambda e: SEPARATOR.join((e.s, e.t, "end")),
            lambda e: ", ".join([e.s, str(e.x)]),
        ),
    ),
    Family(
        "Regular expressions",
        "`re.search`, `match`, `fullmatch`, `sub` by a constant text, `findall` without groups, and the methods of "
        "a compiled pattern. The pattern is a constant that Python, Java and Rust read alike: characters, classes, "
        "groups, alternatives, repetitions, `^` and a final `$`. Repetitions have at most 100 rounds; open ones are of "
        "one character. Of a match only whether there is one, and the groups that every match has.",
        (
            lambda e: bool(re.search(r"[ab]+", e.s)),
            lambda e: re.search(r"^a.?b$", e.s) is not None,
            lambda e: 1 if re.match(r"\w", e.s) else 0,
            lambda e: not re.fullmatch(r"(?:a|b| )*?", e.s) or e.b,
            lambda e: re.match(r"\d", e.s) is None and e.c,
            lambda e: re.fullmatch(r"[^\W\d_]{2,4}", e.s) is not None,
            lambda e: bool(re.match(r".\Z", e.s)),
            lambda e: re.sub(r"[\s,]+", "$-", e.s),
            lambda e: re.sub(r"a|b{2,}?", "", e.s + e.t),
            lambda e: COMMA.sub("; ", e.s),
            lambda e: NOT_WORD.sub("", e.s),
            lambda e: re.findall(r"\S", e.s),
            lambda e: len(COMMA.findall(e.s)),
            first_letters,
            lambda e: re.search(r"(\S)\S*$", e.s).group(1),  # type: ignore[union-attr]
            lambda e: COMMA.search(e.s).group(),  # type: ignore[union-attr]
            lambda e: re.match("(a)?(.)", e.s)[2],  # type: ignore[index]
        ),
    ),
    Family(
        "Lists and tuples",
        "All items of a list have the same shape. An index out of range fails; that of a tuple is a constant.",
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
            lambda e: e.xs[e.x],
            lambda e: e.words[e.x % 5 - 2],
            lambda e: e.xs[e.x + e.y - e.y],
            lambda e: [e.m, e.m][e.b],
            lambda e: e.s.split(",")[len(e.s) // 2],
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
