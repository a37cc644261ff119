"""The primitive operations of lifted expressions: a closed list, each with Python's meaning.

What a function says in many ways comes down to these: a comparison of any kind is one of ``EQUAL``, ``LESS`` and
``LESS_EQUAL``, and arithmetic on times is arithmetic on microseconds. So an engine needs one table to compile them.
"""

from __future__ import annotations

from enum import Enum, auto


class Op(Enum):
    """A function of values that are not ``None`` (but for ``IS_NONE``); ``failures.fails`` says when it may fail."""

    # Integers, without bound: only what is stored must fit 64 bits.
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

    # Floats, as IEEE 754 has them, NaN, infinities and the sign of zero included.
    FLOAT_ADD = auto()
    FLOAT_SUBTRACT = auto()
    FLOAT_MULTIPLY = auto()
    FLOAT_DIVIDE = auto()
    FLOAT_FLOOR_DIVIDE = auto()
    FLOAT_MODULO = auto()
    FLOAT_NEGATE = auto()
    FLOAT_ABSOLUTE = auto()
    SQUARE_ROOT = auto()
    TO_FLOAT = auto()
    """The float nearest to an integer."""
    TRUNCATE = auto()
    """A float to an integer, as are the next three."""
    FLOOR = auto()
    CEILING = auto()
    ROUND_HALF_EVEN = auto()
    IS_NAN = auto()
    IS_INFINITE = auto()

    # Logic. ``and``, ``or`` and ``if`` are choices.
    NOT = auto()
    IS_NONE = auto()

    # Orders of two values of one shape: integers, booleans, text by code point, dates, points in time.
    EQUAL = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    FLOAT_EQUAL = auto()
    """Not true of NaN, like the next two."""
    FLOAT_LESS = auto()
    FLOAT_LESS_EQUAL = auto()
    ONE_OF = auto()
    """Whether the first is equal to one of the others, which are constants."""

    # Text, counted in code points.
    LENGTH = auto()
    CONCATENATE = auto()
    CONTAINS = auto()
    """Whether the first has the second inside."""
    STARTS_WITH = auto()
    ENDS_WITH = auto()
    FIND = auto()
    """The index of the first place of the second in the first, or -1."""
    REPLACE = auto()
    """The second, which is not empty, by the third, everywhere in the first."""
    STRIP = auto()
    """The first without the characters of the second, a constant, at its ends."""
    STRIP_LEFT = auto()
    STRIP_RIGHT = auto()
    SLICE = auto()
    """From one constant index to another, or to the end; a negative one counts from the end."""
    CHARACTER = auto()
    SPLIT = auto()
    """At each place of a constant separator, which is not empty."""
    WORDS = auto()
    """What stands between white space, as the running Python has it."""
    TEXT_OF_INTEGER = auto()
    TEXT_OF_DAY = auto()
    """YYYY-MM-DD."""
    ENUM_NAME = auto()

    # Lists.
    SIZE = auto()
    ITEM = auto()
    LIST = auto()
    HAS_ITEM = auto()

    # Times as numbers: microseconds since the epoch, days since it, microseconds of a duration; and back.
    MICROS = auto()
    INSTANT = auto()
    DAYS = auto()
    DAY = auto()
    DURATION_MICROS = auto()
    DURATION = auto()
    YEAR = auto()
    MONTH = auto()
    DAY_OF_MONTH = auto()


__all__ = ["Op"]
