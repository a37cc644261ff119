"""Formats of values in an f-string, and of times by ``strftime``, as choices and slices of texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from datetime import date
from typing import Final

from flowalg.data.shapes import BOOLEAN, DAY, FLOAT, INTEGER, TEXT, TIMESTAMP
from flowalg.lifting.operations import times
from flowalg.lifting.operations.comparisons import compare
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.conversions import int_constant, is_in_utc, to_float
from flowalg.lifting.operations.numbers import integer_operation, lift_arithmetic
from flowalg.lifting.operations.strings import (
    WIDEST,
    concatenate,
    pad_left,
    pad_right,
    slice_string,
    string_constant,
    to_string,
    zero_filled,
)
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Opaque
from flowalg.lifting.tree.primitives import Op

_SPEC: Final = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>]))?(?P<sign>[+-])?(?P<zero>0)?(?P<width>[1-9][0-9]*)?(?P<comma>,)?"
    r"(?:\.(?P<digits>[0-9]{1,2}))?(?P<kind>[dfs%])?",
    re.DOTALL,
)
_MOST_DIGITS: Final = 15
"""The most digits after the point of a float; its fraction, multiplied by that power of ten, is an exact integer."""
_DIRECTIVE: Final = re.compile(r"%(.?)|([^%]+)", re.DOTALL)
_LETTERS: Final[Mapping[str, str]] = {"m": "month", "d": "day", "H": "hour", "M": "minute", "S": "second"}


def lift_format(of: Expr, spec: str, location: str) -> Expr | None:
    """Lifts ``f"{of:spec}"`` of a number, a text or a time; returns ``None`` for other formats."""
    if of.shape in (TIMESTAMP, DAY):
        return format_time(of, spec, location)
    match = _SPEC.fullmatch(spec)
    if match is None:
        return None
    text, width = _unfilled(of, match, location), int(match["width"] or 0)
    if text is None or isinstance(text, Opaque) or width > WIDEST:
        return None
    if match["zero"]:
        return None if match["align"] or match["comma"] else zero_filled(text, width, location)
    pad = pad_right if (match["align"] or ("<" if of.shape == TEXT else ">")) == "<" else pad_left
    return pad(text, width, match["fill"] or " ", location)


def _unfilled(of: Expr, match: re.Match[str], location: str) -> Expr | None:
    """Returns what a format writes, before it is filled up to a width."""
    kind, digits = match["kind"], match["digits"]
    if of.shape == TEXT:
        is_plain = kind in (None, "s") and not (match["sign"] or match["zero"] or match["comma"] or digits)
        return of if is_plain else None
    if of.shape == INTEGER and kind in (None, "d") and digits is None:
        text = to_string(of, location)
        return _signed(_with_commas(text, location) if match["comma"] else text, match["sign"], location)
    places = int(digits or 6)
    if of.shape not in (INTEGER, FLOAT) or kind not in ("f", "%") or places > _MOST_DIGITS:
        return None
    number = to_float(of, location)
    if kind == "%":
        number = lift_arithmetic(ast.Mult(), number, Constant(100.0, FLOAT), location)
    text = _fixed_point(number, places, bool(match["comma"]), location)
    signed = _signed(text, match["sign"], location)
    return concatenate((signed, string_constant("%")), location) if kind == "%" else signed


def _fixed_point(number: Expr, places: int, has_commas: bool, location: str) -> Expr:
    text = Apply(Op.FIXED_POINT, (number, int_constant(places)), TEXT, location)
    if not has_commas:
        return text
    if not places:
        return _with_commas(text, location)
    whole = slice_string(text, 0, -places - 1, location)
    rest = slice_string(text, -places - 1, None, location)
    return concatenate((_with_commas(whole, location), rest), location)


def _with_commas(text: Expr, location: str) -> Expr:
    return Apply(Op.THOUSANDS, (text,), TEXT, location)


def _signed(text: Expr, sign: str | None, location: str) -> Expr:
    """Returns the text of a number; if ``sign`` is ``+``, a number without a minus has a plus."""
    if sign != "+":
        return text
    has_minus = Apply(Op.STARTS_WITH, (text, string_constant("-")), BOOLEAN, location)
    return choose(has_minus, text, concatenate((string_constant("+"), text), location), location)


def format_time(of: Expr, layout: str, location: str) -> Expr | None:
    """Lifts ``of.strftime(layout)`` of a date, or of a point in time in UTC, with the usual directives."""
    if not is_in_utc(of) or not layout or "\0" in layout:
        return None
    parts: list[Expr] = []
    for match in _DIRECTIVE.finditer(layout):
        part = string_constant(match[2]) if match[2] else _directive(of, match[1], location)
        if part is None:
            return None
        parts.append(part)
    return concatenate(parts, location)


def _directive(of: Expr, letter: str, location: str) -> Expr | None:
    def field(name: str) -> Expr:
        is_midnight = of.shape == DAY and name in ("hour", "minute", "second", "microsecond")
        return int_constant(0) if is_midnight else times.lift_attribute(of, name, location)

    if letter in _LETTERS:
        return _two_digits(field(_LETTERS[letter]), location)
    match letter:
        case "%":
            return string_constant("%")
        case "Y":
            return _year(field("year"), location)
        case "y":
            return _two_digits(
                integer_operation(Op.MODULO, field("year"), int_constant(100), location), location
            )
        case "f":
            return pad_left(to_string(field("microsecond"), location), 6, "0", location)
        case _:
            return None


def _two_digits(number: Expr, location: str) -> Expr:
    text = to_string(number, location)
    is_short = compare(ast.Lt(), number, int_constant(10), location)
    return choose(is_short, concatenate((string_constant("0"), text), location), text, location)


def _year(year: Expr, location: str) -> Expr:
    """Returns a year as the running Python writes it: whether one before 1000 has four digits depends on the system."""
    text = to_string(year, location)
    return pad_left(text, 4, "0", location) if date(1, 1, 1).strftime("%Y") == "0001" else text
