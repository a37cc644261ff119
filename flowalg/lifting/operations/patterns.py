"""Regular expressions that Python, Rust (Polars) and Java (Spark) read alike.

Python's own parser says what a pattern means. It is written again in a notation that all three read alike: characters
by their number, classes as the ranges of the running Python's own Unicode tables, ``.`` without the line ends that
others add. What has another meaning elsewhere, or none, is left to Python: look-around, back-references, ignoring case,
word boundaries, ``$`` before the end, and loops that could exhaust Java's stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from types import FunctionType
from typing import Final, TypeAlias, cast

from attrs import frozen

from flowalg.data.shapes import BOOLEAN, TEXT, ListOf
from flowalg.lifting.operations.strings import constant_string, string_constant
from flowalg.lifting.tree.expressions import Apply, Expr, Match, Opaque
from flowalg.lifting.tree.primitives import Op

Range: TypeAlias = tuple[int, int]
Ranges: TypeAlias = Sequence[Range]
"""Characters by number: disjoint ranges in order, ends included."""
Code: TypeAlias = tuple[object, object]
"""One instruction of Python's parser, and its argument."""

_parse: Callable[[str, int], Iterable[Code]] = import_module("re._parser").parse

_LAST: Final = 0x10FFFF
_MOST: Final = 100
"""The largest bound of a repetition."""
_LARGEST: Final = 100_000
"""The largest size of a pattern, in ranges of characters: Rust writes a repeated part again for each round."""
_FEW: Final = 20
"""The number of ranges up to which Java searches a class quickly."""
_FLAGS: Final = re.UNICODE | re.ASCII | re.DOTALL | re.VERBOSE


class _Uncommon(Exception):
    """A part of a pattern that engines read differently, or not at all."""


@frozen
class Pattern:
    """A pattern in the common notation.

    ``ends`` is true if ``$`` is at an end of it, written as a line end that may follow, and the end of the text.
    ``can_be_empty`` says whether it matches no characters, and ``sure_groups`` has the groups that are in every match.
    """

    text: str
    sure_groups: frozenset[int]
    ends: bool
    can_be_empty: bool


@frozen
class _Part:
    """A part of a pattern: its text, the least number of characters, its size, and whether it is one character."""

    text: str
    least: int
    size: int = 0
    is_character: bool = False

    @property
    def bound(self) -> str:
        """The part as what a repetition repeats."""
        return self.text if self.is_character else f"(?:{self.text})"


@lru_cache(maxsize=1024)
def common_pattern(text: str, flags: int, *, full: bool = False) -> Pattern | str:
    """Returns a pattern in the common notation, or the reason that it has none; ``full`` if it must match all."""
    if flags & ~_FLAGS:
        return f"the flags {re.RegexFlag(flags & ~_FLAGS)!r} of a pattern"
    writer = _Writer(flags, "" if full else r"\x{a}?\z")
    try:
        part = writer.sequence(_parse(text, flags), sure=True, last=True)
    except _Uncommon as uncommon:
        return f"the pattern {text!r}, which has {uncommon}"
    return Pattern(part.text, frozenset(writer.sure), writer.ends, part.least == 0)


class _Writer:
    """Writes the instructions of Python's parser in the common notation."""

    def __init__(self, flags: int, end: str) -> None:
        self.flags = flags
        self.end = end
        self.ends = False
        self.sure: set[int] = set()

    def sequence(self, codes: Iterable[Code], *, sure: bool, last: bool = False) -> _Part:
        """Writes parts one after the other: ``sure`` if they are in every match, ``last`` if nothing follows them."""
        listed = list(codes)
        parts = [
            self.part(str(name), argument, sure=sure, last=last and number == len(listed))
            for number, (name, argument) in enumerate(listed, 1)
        ]
        is_character = len(parts) == 1 and parts[0].is_character
        text, least = "".join(part.text for part in parts), sum(part.least for part in parts)
        return _Part(text, least, _size(parts), is_character)

    def part(self, name: str, argument: object, *, sure: bool, last: bool) -> _Part:
        """Writes one instruction."""
        match name, argument:
            case "LITERAL", int(character):
                return _character([(character, character)])
            case "NOT_LITERAL", int(character):
                return _character(_complement([(character, character)]))
            case "ANY", _:
                return _character([(0, _LAST)] if self.flags & re.DOTALL else _complement([(10, 10)]))
            case "IN", list(members):
                return _character(self.ranges(cast("list[Code]", members)))
            case (("MAX_REPEAT" | "MIN_REPEAT"), (int(least), int(most), inner)):
                return self.repetition(name, least, most, cast("Iterable[Code]", inner), sure=sure)
            case "SUBPATTERN", (None, 0, 0, inner):
                part = self.sequence(cast("Iterable[Code]", inner), sure=sure, last=last)
                return _Part(f"(?:{part.text})", part.least, part.size)
            case "SUBPATTERN", (int(number), 0, 0, inner):
                part = self.sequence(cast("Iterable[Code]", inner), sure=sure)
                if sure:
                    self.sure.add(number)
                return _Part(f"({part.text})", part.least, part.size)
            case "BRANCH", (_, list(branches)):
                parts = [
                    self.sequence(cast("Iterable[Code]", branch), sure=False, last=last)
                    for branch in branches
                ]
                text = "|".join(part.text for part in parts)
                return _Part(f"(?:{text})", min(part.least for part in parts), _size(parts))
            case "AT", _ if str(argument) == "AT_END" and last:
                self.ends = True
                return _Part(self.end, 0)
            case "AT", _ if str(argument) in _PLACES:
                return _Part(_PLACES[str(argument)], 0)
        raise _Uncommon(_NAMES.get(str(argument)) or _NAMES.get(name) or name.lower())

    def repetition(self, name: str, least: int, most: int, codes: Iterable[Code], *, sure: bool) -> _Part:
        """Writes a repetition. That of more than one character has bounds, since Java recurs for each round."""
        part = self.sequence(codes, sure=sure and least > 0)
        is_open = most > _MOST
        if (is_open and most < 2**31) or least > _MOST:
            raise _Uncommon(f"a repetition of more than {_MOST}")
        if not part.is_character and (is_open or (most > 1 and part.least == 0)):
            raise _Uncommon("an open repetition of more than a character")
        bounds = {(0, True): "*", (1, True): "+"}.get(
            (least, is_open), f"{{{least},{'' if is_open else most}}}"
        )
        size = part.size * (least + 1 if is_open else most)
        if size > _LARGEST:
            raise _Uncommon("too many rounds of a repetition")
        return _Part(f"{part.bound}{bounds}{'?' if name == 'MIN_REPEAT' else ''}", least * part.least, size)

    def ranges(self, members: Sequence[Code]) -> Ranges:
        """Returns the characters of a class in brackets."""
        ranges: list[Range] = []
        is_negated = bool(members) and str(members[0][0]) == "NEGATE"
        for name, argument in members[is_negated:]:
            match str(name), argument:
                case "LITERAL", int(character):
                    ranges.append((character, character))
                case "RANGE", (int(first), int(last)):
                    ranges.append((first, last))
                case "CATEGORY", _:
                    ranges += _category(str(argument), bool(self.flags & re.ASCII))
                case _:
                    raise _Uncommon(f"{name} in brackets")
        return _complement(ranges) if is_negated else _union(ranges)


_NAMES: Final = {
    "AT_END": "`$` before its end",
    "AT_BOUNDARY": "`\\b`, whose words differ",
    "AT_NON_BOUNDARY": "`\\B`, whose words differ",
    "ASSERT": "a look-ahead or look-behind",
    "ASSERT_NOT": "a look-ahead or look-behind",
    "GROUPREF": "a back-reference",
    "SUBPATTERN": "flags inside",
}
_PLACES: Final = {"AT_BEGINNING": r"\A", "AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\z"}
_CATEGORIES: Final = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}


@lru_cache(maxsize=16)
def _category(name: str, ascii_only: bool) -> Ranges:
    """Returns the characters of ``\\d``, ``\\s``, ``\\w`` or of their complements, in the running Python."""
    kind = name.rpartition("_")[2]
    characters = "".join(map(chr, range(128 if ascii_only else _LAST + 1)))
    members = re.findall(_CATEGORIES[kind], characters, re.ASCII if ascii_only else re.UNICODE)
    ranges = _union([(ord(character), ord(character)) for character in members])
    return _complement(ranges) if name == f"CATEGORY_NOT_{kind}" else ranges


def _union(ranges: Iterable[Range]) -> Ranges:
    """Returns ranges as disjoint ones in order, and touching ones as one."""
    united: list[Range] = []
    for first, last in sorted(ranges):
        if united and first <= united[-1][1] + 1:
            united[-1] = (united[-1][0], max(last, united[-1][1]))
        else:
            united.append((first, last))
    return united


def _complement(ranges: Iterable[Range]) -> Ranges:
    """Returns all other characters."""
    starts, ends = [0], []
    for first, last in _union(ranges):
        ends.append(first - 1)
        starts.append(last + 1)
    return [(first, last) for first, last in zip(starts, [*ends, _LAST], strict=True) if first <= last]


def _character(ranges: Ranges) -> _Part:
    """Writes a class of characters. Beyond ASCII it stands in a class of its own, which Java need not always search."""
    valid = _without_surrogates(ranges)
    if not valid:
        raise _Uncommon("a class without characters")
    if len(valid) == 1 and valid[0][0] == valid[0][1]:
        return _Part(_numbered(valid[0][0]), 1, 1, True)
    near = "".join(_written(first, min(last, 127)) for first, last in valid if first < 128)
    far = "".join(_written(max(first, 128), last) for first, last in valid if last > 127)
    if near and far and len(valid) > _FEW:
        far = rf"[\x{{80}}-\x{{10ffff}}&&[{far}]]"
    return _Part(f"[{near}{far}]", 1, len(valid), True)


def _without_surrogates(ranges: Ranges) -> Ranges:
    """Returns the ranges without surrogates, which no text of an engine has."""
    return [
        (first, last)
        for low, high in ranges
        for first, last in ((low, min(high, 0xD7FF)), (max(low, 0xE000), high))
        if first <= last
    ]


def _size(parts: Iterable[_Part]) -> int:
    return sum(part.size for part in parts)


def _written(first: int, last: int) -> str:
    return _numbered(first) if first == last else f"{_numbered(first)}-{_numbered(last)}"


def _numbered(character: int) -> str:
    plain = character < 128 and chr(character).isalnum()
    return chr(character) if plain else rf"\x{{{character:x}}}"


_EACH: Final[Mapping[str, Callable[[str], bool]]] = {
    "isalpha": str.isalpha,
    "isalnum": str.isalnum,
    "isascii": str.isascii,
    "isdecimal": str.isdecimal,
    "isdigit": str.isdigit,
    "isnumeric": str.isnumeric,
    "isprintable": str.isprintable,
    "isspace": str.isspace,
}
"""Methods that ask whether each character is of a class."""
_CASED: Final[Mapping[str, Callable[[str], bool]]] = {"islower": str.islower, "isupper": str.isupper}
"""Methods that ask whether there are characters of a case, and none of another."""


def lift_predicate(name: str, of: Expr, args: Sequence[Expr], location: str) -> Expr | None:
    """Lifts ``isdigit`` and the like as patterns; returns ``None`` for other methods."""
    if args or name not in {*_EACH, *_CASED}:
        return None
    return Apply(Op.MATCHES, (of, string_constant(_predicate(name))), BOOLEAN, location)


@lru_cache(maxsize=16)
def _predicate(name: str) -> str:
    """Returns the pattern of the texts for which a method is true in the running Python."""
    if name in _EACH:
        holds = _EACH[name]
        return rf"\A{_character(_ranges_of(holds)).text}{'*' if holds('') else '+'}\z"
    case = _CASED[name]
    wanted = _ranges_of(case)
    cased = _ranges_of(lambda of: of.islower() or of.istitle())
    others = _ranges_of(lambda of: (of.islower() or of.istitle()) and not case(of))
    parts = (_character(ranges).text for ranges in (_complement(cased), wanted, _complement(others)))
    return r"\A{}*{}{}*\z".format(*parts)


def _ranges_of(holds: Callable[[str], bool]) -> Ranges:
    return _union([(number, number) for number in range(_LAST + 1) if holds(chr(number))])


_FUNCTIONS: Final = (re.search, re.match, re.fullmatch, re.sub, re.findall)


def pattern_of(target: object, args: Sequence[Expr]) -> re.Pattern[str] | None:
    """Returns the constant pattern that a function of ``re`` is called with; ``None`` for another call."""
    text = (
        constant_string(args[0])
        if args and isinstance(target, FunctionType) and target in _FUNCTIONS
        else None
    )
    try:
        return None if text is None else re.compile(text)
    except re.error:
        return None


def lift_method(pattern: re.Pattern[str], name: str, args: Sequence[Expr], location: str) -> Expr:
    """Lifts a call of a method of a pattern, or of the function of ``re`` with its name."""
    groups = pattern.groups
    shape = TEXT if name == "sub" else ListOf(TEXT) if name == "findall" and groups < 2 else None
    reason = f"`{name}` of the pattern {pattern.pattern!r} with these arguments"
    if not args or args[-1].shape != TEXT or isinstance(args[-1], Opaque):
        return Opaque(shape, reason, location)
    common = common_pattern(pattern.pattern, pattern.flags, full=name == "fullmatch")
    if isinstance(common, str):
        return Opaque(shape, common, location)
    anywhere = f"(?:{common.text})"
    may_repeat = not (common.ends or common.can_be_empty)
    match name, args:
        case (("search" | "match" | "fullmatch"), [of]):
            start, end = "" if name == "search" else r"\A", r"\z" if name == "fullmatch" else ""
            sure = common.sure_groups if common.ends else common.sure_groups | {0}
            only = f"a match of {pattern.pattern!r}, but for whether there is one, and its sure groups"
            return Match(None, only, location, of=of, pattern=f"{start}{anywhere}{end}", groups=sure)
        case "sub", [replacement, of] if may_repeat and _is_plain(replacement):
            return Apply(Op.SUBSTITUTE, (of, string_constant(anywhere), replacement), TEXT, location)
        case "findall", [of] if may_repeat and not groups:
            return Apply(Op.FIND_ALL, (of, string_constant(anywhere)), ListOf(TEXT), location)
    return Opaque(shape, reason, location)


def _is_plain(replacement: Expr) -> bool:
    """Returns whether a replacement is a constant text that names no group."""
    text = constant_string(replacement)
    return text is not None and "\\" not in text
