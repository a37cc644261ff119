"""Upper and lower case by the tables of the running Python, whose version of Unicode need not be that of Java.

A text in ASCII is the same in all versions. In any other, characters are replaced by those of Python: first those that
become several, which are in no table themselves, then the others. Only one character depends on those around it: a
capital sigma becomes another letter at the end of a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain, groupby
from typing import Final

from attrs import frozen

from flowalg.lifting.tree.expressions import Apply
from flowalg.lifting.tree.primitives import CASES, Op
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql

_SIGMA: Final = "\u03a3"
_FINAL_SIGMA: Final = "\u03c2"


def _characters() -> Iterator[str]:
    """Yields all characters but surrogates, which are in no text."""
    return map(chr, chain(range(0xD800), range(0xE000, 0x110000)))


@frozen
class _Table:
    """What characters become that change: one character or several."""

    single: Mapping[str, str]
    several: Mapping[str, str]


def change_case(node: Apply, text: Sql) -> Sql:
    """Compiles ``lower``, ``title`` and the like."""
    beyond = sql.let(text, lambda written: _beyond_ascii(node.op, written))
    in_ascii = _in_ascii(node.op, text)
    return sql.when(sql.octet_length(text) == sql.length(text), in_ascii).otherwise(beyond)


def _in_ascii(op: Op, text: Sql) -> Sql:
    match op:
        case Op.UPPER:
            return sql.upper(text)
        case Op.TITLE:
            return _by_words(text, "A-Za-z", sql.upper, sql.lower)
        case Op.CAPITALIZE:
            return sql.concat(sql.upper(sql.left(text, 1)), sql.lower(sql.substr(text, 2)))
        case _:
            return sql.lower(text)


def _beyond_ascii(op: Op, text: Sql) -> Sql:
    match op:
        case Op.LOWER:
            return _by_table(op, _end_words(text))
        case Op.TITLE:
            return _by_words(_end_words(text), _cased(), _capital, partial(_by_table, Op.LOWER))
        case Op.CAPITALIZE:
            return sql.let(_end_words(text), _with_capital)
        case _:
            return _by_table(op, text)


def _by_words(text: Sql, letters: str, first: Callable[[Sql], Sql], rest: Callable[[Sql], Sql]) -> Sql:
    """Changes the first letter of each word and the rest of it; a word consists of cased letters."""
    words = sql.regexp_extract_all(text, f"[{letters}]+|[^{letters}]+", 0)
    changed = sql.transform(
        words, lambda word: sql.concat(first(sql.left(word, 1)), rest(sql.substr(word, 2)))
    )
    return sql.array_join(changed, "")


def _with_capital(text: Sql) -> Sql:
    return sql.concat(_capital(sql.left(text, 1)), _by_table(Op.LOWER, sql.substr(text, 2)))


def _capital(letter: Sql) -> Sql:
    """Changes one letter; of several that it becomes, those after the first are small and stay so."""
    table = _table(Op.TITLE)
    expanded = _expand(letter, table.several)
    return sql.when(expanded != letter, expanded).otherwise(_translate(letter, table.single))


def _by_table(op: Op, text: Sql) -> Sql:
    table = _table(op)
    return _translate(_expand(text, table.several), table.single)


def _translate(text: Sql, single: Mapping[str, str]) -> Sql:
    return sql.translate(text, "".join(single), "".join(single.values()))


@lru_cache(maxsize=len(CASES))
def _table(op: Op) -> _Table:
    changed = {old: new for old in _characters() if (new := CASES[op](old)) != old}
    return _Table(
        {old: new for old, new in changed.items() if len(new) == 1},
        {old: new for old, new in changed.items() if len(new) > 1},
    )


def _expand(text: Sql, several: Mapping[str, str]) -> Sql:
    """Returns a text in which each of some characters is replaced by several others."""
    if len(several) == 1:
        [(old, new)] = several.items()
        return sql.replace(text, old, new)
    pairs = sql.array(*(sql.array(old, new) for old, new in several.items()))
    expanded = sql.aggregate(
        pairs, text, lambda done, pair: sql.replace(done, sql.get(pair, 0), sql.get(pair, 1))
    )
    return sql.when(sql.translate(text, "".join(several), "") == text, text).otherwise(expanded)


def _end_words(text: Sql) -> Sql:
    """Returns a text with a final sigma where a capital sigma ends a word: a cased letter precedes, and none follows.

    Ignorable characters, such as marks, may be in between.
    """
    cased, ignorable = _neighbours()
    pattern = f"([{cased}][{ignorable}]*){_SIGMA}(?![{ignorable}]*[{cased}])"
    ended = sql.regexp_replace(text, pattern, f"$1{_FINAL_SIGMA}")
    return sql.when(sql.contains(text, _SIGMA), ended).otherwise(text)


@lru_cache(maxsize=1)
def _neighbours() -> tuple[str, str]:
    """Returns the cased characters and the ignorable ones that Python sees next to a sigma, as classes of Java."""
    cased = [of for of in _characters() if (of + _SIGMA).lower().endswith(_FINAL_SIGMA)]
    either = [of for of in _characters() if ("a" + of + _SIGMA).lower().endswith(_FINAL_SIGMA)]
    return _ranges(cased), _ranges(sorted({*either} - {*cased}))


@lru_cache(maxsize=1)
def _cased() -> str:
    """Returns the characters after which ``title`` writes lower case, as a class of Java."""
    return _ranges(of for of in _characters() if f"{of}A".title().endswith("a"))


def _ranges(characters: Iterable[str]) -> str:
    """Returns characters as ranges. None of them has a meaning in a class of Java but ``^``, which is not the first."""
    runs = groupby(enumerate(map(ord, characters)), lambda numbered: numbered[1] - numbered[0])
    ends = [[number for _, number in run] for _, run in runs]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in ends)
