"""The primitive operations of lifted expressions: a closed list, each with its meaning in Python.

Python's operations reduce to these: each comparison is one of ``EQUAL``, ``LESS`` and ``LESS_EQUAL``, and arithmetic on
times is arithmetic on microseconds. An engine needs one table to compile them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Final


class Op(Enum):
    """An operation on values that are not ``None``, except ``IS_NONE`` and ``FLOAT_CANONICAL``.

    ``can_fail_itself`` says when it may raise.
    """

    # Integers, unbounded; only stored results must fit 64 bits.
    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    NEGATE = auto()
    FLOOR_DIVIDE = auto()
    MODULO = auto()
    DIVIDE = auto()
    """The float nearest to the quotient of two integers."""
    BIT_AND = auto()
    BIT_OR = auto()
    BIT_XOR = auto()

    # Floats as in IEEE 754, including NaN, infinities and signed zeros.
    FLOAT_ADD = auto()
    FLOAT_SUBTRACT = auto()
    FLOAT_MULTIPLY = auto()
    FLOAT_DIVIDE = auto()
    FLOAT_FLOOR_DIVIDE = auto()
    FLOAT_MODULO = auto()
    FLOAT_NEGATE = auto()
    FLOAT_ABSOLUTE = auto()
    FLOAT_CANONICAL = auto()
    """The float; zero for a negative zero. ``None`` stays ``None``."""
    ROUND_DIGITS = auto()
    """The float nearest to the decimal that a float rounds to, with a constant number of digits after its point.

    The decimal is that nearest to the exact value of the float, and even if two are; the digits are at most
    ``halves.MOST_DIGITS``.
    """
    SQUARE_ROOT = auto()
    TO_FLOAT = auto()
    """The float nearest to an integer."""
    TRUNCATE = auto()
    """Converts a float to an integer, like the next three."""
    FLOOR = auto()
    CEILING = auto()
    ROUND_HALF_EVEN = auto()
    IS_NAN = auto()
    IS_INFINITE = auto()

    # Logic; ``and``, ``or`` and ``if`` are choices.
    NOT = auto()
    IS_NONE = auto()

    # Comparisons of two values of the same shape: integers, booleans, strings by code point, dates, points in time.
    EQUAL = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    FLOAT_EQUAL = auto()
    """False for NaN, like the next two."""
    FLOAT_LESS = auto()
    FLOAT_LESS_EQUAL = auto()
    ONE_OF = auto()
    """Whether the first argument equals one of the others, which are constants."""

    # Strings, counted in code points.
    LENGTH = auto()
    CONCATENATE = auto()
    CONTAINS = auto()
    """Whether the first argument contains the second."""
    STARTS_WITH = auto()
    ENDS_WITH = auto()
    FIND = auto()
    """The index of the first occurrence of the second argument in the first, or -1."""
    REPLACE = auto()
    """Replaces every occurrence of the second argument, which is not empty, in the first by the third."""
    STRIP = auto()
    """Strips the characters of the second argument, a constant, from both ends of the first."""
    STRIP_LEFT = auto()
    STRIP_RIGHT = auto()
    LOWER = auto()
    """The lower case of each character by the tables of the running Python, like the next four; see ``CASES``."""
    UPPER = auto()
    CASEFOLD = auto()
    TITLE = auto()
    CAPITALIZE = auto()
    SLICE = auto()
    """The slice from a constant index to another or to the end; negative indices count from the end."""
    CHARACTER = auto()
    SPLIT = auto()
    """Splits at each occurrence of a constant separator, which is not empty."""
    WORDS = auto()
    """Splits at whitespace as the running Python defines it."""
    MATCHES = auto()
    """Whether a constant pattern, in the common notation of ``operations.patterns``, is in a text; so for the next."""
    GROUP = auto()
    """A group of the first match, by its constant number; fails with a constant message without a match.

    The message is empty if there certainly is a match.
    """
    SUBSTITUTE = auto()
    """Replaces every match by a constant text."""
    FIND_ALL = auto()
    TEXT_OF_INTEGER = auto()
    FIXED_POINT = auto()
    """The exact decimal of a float, rounded to a constant number of digits, at most 15: ``f"{of:.2f}"``."""
    THOUSANDS = auto()
    """The text of an integer with a comma before each three digits; other texts as they are."""
    TEXT_OF_DAY = auto()
    """The date as YYYY-MM-DD."""
    ENUM_NAME = auto()

    # Lists.
    SIZE = auto()
    ITEM = auto()
    LIST = auto()
    HAS_ITEM = auto()
    POSITION = auto()
    """The position of the item that a comprehension has come to, counted from 0; as a column, that number itself."""

    # Dictionaries and other mappings.
    ENTRY = auto()
    """The value for the first argument in a constant dictionary, whose keys and then values are the others.

    It is arbitrary if the dictionary has no such key.
    """
    LOOKUP = auto()
    """Whether a side input has a key, and its value, which is arbitrary if it has not. A join computes it."""
    REQUIRE = auto()
    """The second argument. Fails where the first one, whether a mapping has a key, is false."""

    # Times as integers: microseconds since the epoch, days since the epoch, microseconds of a duration; and back.
    MICROS = auto()
    INSTANT = auto()
    DAYS = auto()
    DAY = auto()
    DURATION_MICROS = auto()
    DURATION = auto()
    YEAR = auto()
    MONTH = auto()
    DAY_OF_MONTH = auto()


CASES: Final[Mapping[Op, Callable[[str], str]]] = {
    Op.LOWER: str.lower,
    Op.UPPER: str.upper,
    Op.CASEFOLD: str.casefold,
    Op.TITLE: str.title,
    Op.CAPITALIZE: str.capitalize,
}
"""What changes the case of a text in the running Python, whose version has its own tables of Unicode."""
