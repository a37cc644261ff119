"""Text: the operators and methods that engines have exactly, counted in code points as Python counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from flowalg.data.shapes import BOOLEAN, DAY, INTEGER, TEXT, ListOf, TupleOf
from flowalg.lifting.operations.choices import choose
from flowalg.lifting.operations.conversions import integer, number
from flowalg.lifting.tree.expressions import FALSE, Apply, Build, Constant, Expr, Opaque, either
from flowalg.lifting.tree.intervals import EXACT, interval
from flowalg.lifting.tree.primitives import Op

Arguments: TypeAlias = Sequence[Expr]

UNICODE_REASON: Final = "engines differ on letters beyond ASCII, and between versions of Unicode"
_LEFT_TO_PYTHON: Final[Mapping[str, str]] = {
    **dict.fromkeys(("upper", "lower", "title", "capitalize", "swapcase", "casefold"), UNICODE_REASON),
    **dict.fromkeys(("isalpha", "isdigit", "isalnum", "isupper", "islower", "isspace"), UNICODE_REASON),
}
_TEXTUAL: Final = frozenset(
    {"upper", "lower", "title", "capitalize", "swapcase", "casefold", "join", "format", "zfill"}
    | {"strip", "lstrip", "rstrip", "replace", "removeprefix", "removesuffix", "center", "ljust", "rjust"}
)
_BOOLEAN: Final = frozenset({"startswith", "endswith"})


def text(value: str) -> Constant:
    """A text constant."""
    return Constant(value, TEXT)


@lru_cache(maxsize=1)
def white_space() -> str:
    """All characters that the running Python strips and splits at."""
    return "".join(one for one in map(chr, range(0x110000)) if one.isspace())


def constant_text(expr: Expr) -> str | None:
    """The text of a constant; ``None`` when it is none."""
    if isinstance(expr, Constant) and expr.shape == TEXT and isinstance(expr.value, str):
        return expr.value
    return None


def concatenated(parts: Arguments, place: str) -> Expr:
    """The parts in a row."""
    return parts[0] if len(parts) == 1 else Apply(Op.CONCATENATE, tuple(parts), TEXT, place)


def as_text(of: Expr, place: str) -> Expr:
    """``str(of)``, and ``f"{of}"``, of text, integers, booleans and dates."""
    match of.shape:
        case shape if shape == TEXT:
            return of
        case shape if shape == BOOLEAN:
            return choose(of, text("True"), text("False"), place)
        case shape if shape == INTEGER and interval(of).within(EXACT):
            return Apply(Op.TEXT_OF_INTEGER, (integer(of),), TEXT, place)
        case shape if shape == DAY:
            return Apply(Op.TEXT_OF_DAY, (of,), TEXT, place)
        case None if isinstance(of, Opaque):
            return Opaque(TEXT, of.reason, of.place)
        case _:
            return Opaque(TEXT, f"the text of a {of.shape}", place)


def sliced(of: Expr, start: int | None, stop: int | None, place: str) -> Expr:
    """``of[start:stop]``."""
    bounds = [number(start or 0), *([] if stop is None else [number(stop)])]
    return Apply(Op.SLICE, (of, *bounds), TEXT, place)


def character(of: Expr, index: int, place: str) -> Expr:
    """``of[index]``, which fails beyond the ends."""
    return Apply(Op.CHARACTER, (of, number(index)), TEXT, place)


def contains(of: Expr, inner: Expr, place: str) -> Expr:
    """``inner in of``."""
    return Apply(Op.CONTAINS, (of, inner), BOOLEAN, place)


def method(name: str, of: Expr, args: Arguments, place: str) -> Expr:
    """A method of text."""
    lifted = _method(name, of, args, place)
    if lifted is not None:
        return lifted
    reason = _LEFT_TO_PYTHON.get(name)
    shape = TEXT if name in _TEXTUAL else BOOLEAN if name in _BOOLEAN else None
    return Opaque(shape, f"the method {name}" + (f": {reason}" if reason else " with these arguments"), place)


def _method(name: str, of: Expr, args: Arguments, place: str) -> Expr | None:
    if any(isinstance(arg, Opaque) for arg in args):
        return next(arg for arg in args if isinstance(arg, Opaque))
    constants = [constant_text(arg) for arg in args]
    match name, constants:
        case (("startswith" | "endswith"), [_]):
            op = Op.STARTS_WITH if name == "startswith" else Op.ENDS_WITH
            return _affixed(op, of, args[0], place)
        case "find", [_] if args[0].shape == TEXT:
            return Apply(Op.FIND, (of, args[0]), INTEGER, place)
        case "replace", [str() as old, _] if old and args[1].shape == TEXT:
            return Apply(Op.REPLACE, (of, *args), TEXT, place)
        case "removeprefix", [str() as prefix]:
            has = Apply(Op.STARTS_WITH, (of, *args), BOOLEAN, place)
            return choose(has, sliced(of, len(prefix), None, place), of, place)
        case "removesuffix", [str() as suffix] if suffix:
            has = Apply(Op.ENDS_WITH, (of, *args), BOOLEAN, place)
            return choose(has, sliced(of, 0, -len(suffix), place), of, place)
        case (("strip" | "lstrip" | "rstrip"), ([] | [str()])):
            characters = args[0] if args else text(white_space())
            return Apply(_STRIPS[name], (of, characters), TEXT, place)
        case "split", []:
            return Apply(Op.WORDS, (of, text(white_space())), ListOf(TEXT), place)
        case "split", [str() as separator] if separator:
            return Apply(Op.SPLIT, (of, *args), ListOf(TEXT), place)
        case "join", [_]:
            return _joined(of, args[0], place)
        case _:
            return None


_STRIPS: Final[Mapping[str, Op]] = {
    "strip": Op.STRIP,
    "lstrip": Op.STRIP_LEFT,
    "rstrip": Op.STRIP_RIGHT,
}


def _affixed(op: Op, of: Expr, affix: Expr, place: str) -> Expr | None:
    """``startswith`` or ``endswith``, of a text or of any of a tuple of texts."""
    if affix.shape == TEXT:
        return Apply(op, (of, affix), BOOLEAN, place)
    match affix:
        case Build(shape=TupleOf(), parts=parts) if all(part.shape == TEXT for part in parts):
            lifted: Expr = FALSE
            for one in reversed(parts):
                lifted = either(Apply(op, (of, one), BOOLEAN, place), lifted)
            return lifted
        case _:
            return None


def _joined(separator: Expr, items: Expr, place: str) -> Expr | None:
    match items:
        case Build(shape=TupleOf(), parts=parts) | Apply(op=Op.LIST, args=parts):
            if all(part.shape == TEXT for part in parts):
                between = [piece for part in parts for piece in (separator, part)]
                return concatenated(between[1:], place)
        case _:
            pass
    return None


__all__ = [
    "as_text",
    "character",
    "concatenated",
    "constant_text",
    "contains",
    "method",
    "sliced",
    "text",
]
