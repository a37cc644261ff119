"""Strings: the operators and methods that engines compute exactly as Python does, counted in code points."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from flowalg.data.shapes import BOOLEAN, DAY, INTEGER, TEXT, ListOf, TupleOf
from flowalg.lifting.operations.comparisons import compare
from flowalg.lifting.operations.conditionals import choose
from flowalg.lifting.operations.conversions import int_constant, to_int
from flowalg.lifting.tree.expressions import FALSE, Apply, Build, Constant, Expr, Opaque, disjunction
from flowalg.lifting.tree.intervals import EXACT, interval
from flowalg.lifting.tree.primitives import Op

Arguments: TypeAlias = Sequence[Expr]

WIDEST: Final = 100
"""The largest width that a text is filled up to."""
UNICODE_REASON: Final = "engines differ beyond ASCII and between Unicode versions"
_LEFT_TO_PYTHON: Final[Mapping[str, str]] = dict.fromkeys(("swapcase", "istitle"), UNICODE_REASON)
_TEXTUAL: Final = frozenset(
    {"upper", "lower", "title", "capitalize", "swapcase", "casefold", "join", "format", "zfill"}
    | {"strip", "lstrip", "rstrip", "replace", "removeprefix", "removesuffix", "center", "ljust", "rjust"}
)
_BOOLEAN: Final = frozenset({"startswith", "endswith", "istitle", "isidentifier"})


def string_constant(value: str) -> Constant:
    """Returns a string constant."""
    return Constant(value, TEXT)


@lru_cache(maxsize=1)
def whitespace() -> str:
    """Returns all characters at which the running Python strips and splits."""
    return "".join(character for character in map(chr, range(0x110000)) if character.isspace())


def constant_string(expr: Expr) -> str | None:
    """Returns the value of a string constant, or ``None`` for other expressions."""
    if isinstance(expr, Constant) and expr.shape == TEXT and isinstance(expr.value, str):
        return expr.value
    return None


def concatenate(parts: Arguments, location: str) -> Expr:
    """Lifts the concatenation of strings."""
    return parts[0] if len(parts) == 1 else Apply(Op.CONCATENATE, tuple(parts), TEXT, location)


def to_string(of: Expr, location: str) -> Expr:
    """Lifts ``str(of)`` and ``f"{of}"`` of strings, integers, booleans and dates."""
    match of.shape:
        case shape if shape == TEXT:
            return of
        case shape if shape == BOOLEAN:
            return choose(of, string_constant("True"), string_constant("False"), location)
        case shape if shape == INTEGER and interval(of).within(EXACT):
            return Apply(Op.TEXT_OF_INTEGER, (to_int(of),), TEXT, location)
        case shape if shape == DAY:
            return Apply(Op.TEXT_OF_DAY, (of,), TEXT, location)
        case None if isinstance(of, Opaque):
            return Opaque(TEXT, of.reason, of.location)
        case _:
            return Opaque(TEXT, f"the string form of {of.shape}", location)


def slice_string(of: Expr, start: int | None, stop: int | None, location: str) -> Expr:
    """Lifts ``of[start:stop]``."""
    bounds = [int_constant(start or 0), *([] if stop is None else [int_constant(stop)])]
    return Apply(Op.SLICE, (of, *bounds), TEXT, location)


def pad_left(text: Expr, width: int, fill: str, location: str) -> Expr:
    """Returns a text of at least a width, by characters before it."""
    padded = slice_string(
        concatenate((string_constant(fill * width), text), location), -width, None, location
    )
    return _if_shorter(text, width, padded, location)


def pad_right(text: Expr, width: int, fill: str, location: str) -> Expr:
    """Returns a text of at least a width, by characters after it."""
    padded = slice_string(concatenate((text, string_constant(fill * width)), location), 0, width, location)
    return _if_shorter(text, width, padded, location)


def zero_filled(text: Expr, width: int, location: str) -> Expr:
    """Returns a text of at least a width, by zeros before it, after a sign."""
    filled = pad_left(text, width, "0", location)
    for sign in "+-":
        has_sign = Apply(Op.STARTS_WITH, (text, string_constant(sign)), BOOLEAN, location)
        rest = pad_left(slice_string(text, 1, None, location), width - 1, "0", location)
        filled = choose(has_sign, concatenate((string_constant(sign), rest), location), filled, location)
    return filled


def _if_shorter(text: Expr, width: int, padded: Expr, location: str) -> Expr:
    size = Apply(Op.LENGTH, (text,), INTEGER, location)
    return (
        choose(compare(ast.Lt(), size, int_constant(width), location), padded, text, location)
        if width > 0
        else text
    )


def contains(of: Expr, inner: Expr, location: str) -> Expr:
    """Lifts ``inner in of``."""
    return Apply(Op.CONTAINS, (of, inner), BOOLEAN, location)


def lift_method(name: str, of: Expr, args: Arguments, location: str) -> Expr:
    """Lifts a method call on a string."""
    lifted = _lift_known_method(name, of, args, location)
    if lifted is not None:
        return lifted
    reason = _LEFT_TO_PYTHON.get(name)
    shape = TEXT if name in _TEXTUAL else BOOLEAN if name in _BOOLEAN else None
    return Opaque(
        shape, f"the method {name}" + (f": {reason}" if reason else " with these arguments"), location
    )


def _lift_known_method(name: str, of: Expr, args: Arguments, location: str) -> Expr | None:
    if any(isinstance(arg, Opaque) for arg in args):
        return next(arg for arg in args if isinstance(arg, Opaque))
    constants = [constant_string(arg) for arg in args]
    match name, constants:
        case (("startswith" | "endswith"), [_]):
            op = Op.STARTS_WITH if name == "startswith" else Op.ENDS_WITH
            return _has_affix(op, of, args[0], location)
        case "find", [_] if args[0].shape == TEXT:
            return Apply(Op.FIND, (of, args[0]), INTEGER, location)
        case "count", [str() as inner] if inner:
            return _count(of, inner, location)
        case "replace", [str() as old, _] if old and args[1].shape == TEXT:
            return Apply(Op.REPLACE, (of, *args), TEXT, location)
        case "removeprefix", [str() as prefix]:
            has = Apply(Op.STARTS_WITH, (of, *args), BOOLEAN, location)
            return choose(has, slice_string(of, len(prefix), None, location), of, location)
        case "removesuffix", [str() as suffix] if suffix:
            has = Apply(Op.ENDS_WITH, (of, *args), BOOLEAN, location)
            return choose(has, slice_string(of, 0, -len(suffix), location), of, location)
        case (("strip" | "lstrip" | "rstrip"), ([] | [str()])):
            characters = args[0] if args else string_constant(whitespace())
            return Apply(_STRIPS[name], (of, characters), TEXT, location)
        case (("lower" | "upper" | "casefold" | "title" | "capitalize"), []):
            return Apply(Op[name.upper()], (of,), TEXT, location)
        case "zfill", [_] if (width := _width(args[0])) is not None:
            return zero_filled(of, width, location)
        case (("ljust" | "rjust"), [_, *fills]) if (width := _width(args[0])) is not None:
            fill = fills[0] if fills else " "
            pad = pad_left if name == "rjust" else pad_right
            return pad(of, width, fill, location) if fill is not None and len(fill) == 1 else None
        case "split", []:
            return Apply(Op.WORDS, (of, string_constant(whitespace())), ListOf(TEXT), location)
        case "split", [str() as separator] if separator:
            return Apply(Op.SPLIT, (of, *args), ListOf(TEXT), location)
        case "join", [_]:
            return _join(of, args[0], location)
        case _:
            return None


def _width(argument: Expr) -> int | None:
    """Returns a constant width; ``None`` for other arguments, and beyond ``WIDEST``."""
    value = argument.value if isinstance(argument, Constant) else None
    return max(value, 0) if type(value) is int and value <= WIDEST else None


_STRIPS: Final[Mapping[str, Op]] = {
    "strip": Op.STRIP,
    "lstrip": Op.STRIP_LEFT,
    "rstrip": Op.STRIP_RIGHT,
}


def _count(of: Expr, inner: str, location: str) -> Expr:
    """Lifts ``of.count(inner)``, by the length of ``of`` without ``inner``."""
    rest = Apply(Op.REPLACE, (of, string_constant(inner), string_constant("")), TEXT, location)
    size, left = (Apply(Op.LENGTH, (text,), INTEGER, location) for text in (of, rest))
    removed = Apply(Op.SUBTRACT, (size, left), INTEGER, location)
    if len(inner) == 1:
        return removed
    return Apply(Op.FLOOR_DIVIDE, (removed, int_constant(len(inner))), INTEGER, location)


def _has_affix(op: Op, of: Expr, affix: Expr, location: str) -> Expr | None:
    """Lifts ``startswith`` or ``endswith`` with a string or a tuple of strings."""
    if affix.shape == TEXT:
        return Apply(op, (of, affix), BOOLEAN, location)
    match affix:
        case Build(shape=TupleOf(), parts=parts) if all(part.shape == TEXT for part in parts):
            lifted: Expr = FALSE
            for affix_part in reversed(parts):
                lifted = disjunction(Apply(op, (of, affix_part), BOOLEAN, location), lifted)
            return lifted
        case _:
            return None


def _join(separator: Expr, items: Expr, location: str) -> Expr | None:
    match items:
        case Build(shape=TupleOf(), parts=parts) | Apply(op=Op.LIST, args=parts):
            if all(part.shape == TEXT for part in parts):
                between = [piece for part in parts for piece in (separator, part)]
                return concatenate(between[1:], location)
        case _:
            pass
    return None
