"""Formats of values in an f-string, and of times by ``strftime``, as choices and slices of texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from datetime import date
from typing import Final

from flowalg.data.shapes import DAY, INTEGER, TEXT, TIMESTAMP
from flowalg.lifting.operations import times
from flowalg.lifting.operations.comparisons import compare
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.conversions import int_constant, is_in_utc
from flowalg.lifting.operations.numbers import integer_operation
from flowalg.lifting.operations.strings import (
    WIDEST,
    concatenate,
    pad_left,
    pad_right,
    string_constant,
    to_string,
    zero_filled,
)
from flowalg.lifting.tree.expressions import Expr, Opaque
from flowalg.lifting.tree.primitives import Op

_SPEC: Final = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>]))?(?P<zero>0)?(?P<width>[1-9][0-9]*)?(?P<kind>[ds])?", re.DOTALL
)
_DIRECTIVE: Final = re.compile(r"%(.?)|([^%]+)", re.DOTALL)
_LETTERS: Final[Mapping[str, str]] = {"m": "month", "d": "day", "H": "hour", "M": "minute", "S": "second"}


def lift_format(of: Expr, spec: str, location: str) -> Expr | None:
    """Lifts ``f"{of:spec}"`` of an integer, a text or a time; returns ``None`` for other formats."""
    if of.shape in (TIMESTAMP, DAY):
        return format_time(of, spec, location)
    match = _SPEC.fullmatch(spec)
    kinds = {INTEGER: "d", TEXT: "s"}
    if match is None or of.shape not in kinds or match["kind"] not in (None, kinds[of.shape]):
        return None
    text, width = to_string(of, location), int(match["width"] or 0)
    if isinstance(text, Opaque) or width > WIDEST or (match["zero"] and (match["align"] or of.shape == TEXT)):
        return None
    if match["zero"]:
        return zero_filled(text, width, location)
    pad = pad_left if (match["align"] or (">" if of.shape == INTEGER else "<")) == ">" else pad_right
    return pad(text, width, match["fill"] or " ", location)


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
