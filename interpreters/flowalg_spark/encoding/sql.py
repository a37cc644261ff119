"""Expressions of Spark as SQL text: a projection of any size is one call of the JVM, and people can read it.

A function of Spark is a member of this module by its name: ``sql.coalesce(a, b)``. Arguments of other types
than ``Sql`` are literals. The texts do not depend on settings of the session that change how Spark parses them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from functools import partial, reduce
from inspect import signature
from typing import Final, TypeAlias

from attrs import field, frozen
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.lifting.tree.intervals import STORED


class Binds(IntEnum):
    """How strongly the outermost operator of an expression binds; an operand that binds weaker is in brackets."""

    NAMED = 0
    OR = 1
    AND = 2
    NOT = 3
    PREDICATE = 4
    COMPARISON = 5
    BIT_OR = 6
    BIT_XOR = 7
    BIT_AND = 8
    SUM = 9
    PRODUCT = 10
    SIGN = 11
    ATOM = 12


@frozen(eq=False)
class Sql:
    """An expression of Spark."""

    text: str
    binds: Binds = Binds.ATOM

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise TypeError("an expression of SQL has no truth value in Python")

    @property
    def column(self) -> Column:
        """The expression as a column, for those functions of PySpark that take no text."""
        return F.expr(self.text)

    def __add__(self, other: Value) -> Sql:
        return _binary(self, "+", other, Binds.SUM)

    def __sub__(self, other: Value) -> Sql:
        return _binary(self, "-", other, Binds.SUM)

    def __mul__(self, other: Value) -> Sql:
        return _binary(self, "*", other, Binds.PRODUCT)

    def __truediv__(self, other: Value) -> Sql:
        return _binary(self, "/", other, Binds.PRODUCT)

    def __mod__(self, other: Value) -> Sql:
        return _binary(self, "%", other, Binds.PRODUCT)

    def __eq__(self, other: Value) -> Sql:  # type: ignore[override]
        return _compared(self, "=", other)

    __hash__ = None  # type: ignore[assignment]

    def __ne__(self, other: Value) -> Sql:  # type: ignore[override]
        return _compared(self, "!=", other)

    def __lt__(self, other: Value) -> Sql:
        return _compared(self, "<", other)

    def __le__(self, other: Value) -> Sql:
        return _compared(self, "<=", other)

    def __gt__(self, other: Value) -> Sql:
        return _compared(self, ">", other)

    def __ge__(self, other: Value) -> Sql:
        return _compared(self, ">=", other)

    def __and__(self, other: Value) -> Sql:
        return _binary(self, "AND", other, Binds.AND)

    def __or__(self, other: Value) -> Sql:
        return _binary(self, "OR", other, Binds.OR)

    def __invert__(self) -> Sql:
        return Sql(f"NOT {_operand(self, Binds.NOT)}", Binds.NOT)

    def __neg__(self) -> Sql:
        return Sql(f"-{_operand(self, Binds.ATOM)}", Binds.SIGN)

    def __getitem__(self, name: str) -> Sql:
        """Returns a field of a struct. With a dot, a column of a table with the name of the struct would precede."""
        return Sql(f"{_operand(self, Binds.ATOM)}[{lit(name)}]")

    def div(self, other: Value) -> Sql:
        """Returns the quotient of integers, rounded towards zero."""
        return _binary(self, "DIV", other, Binds.PRODUCT)

    def bit_and(self, other: Value) -> Sql:
        """Returns the bits of both integers."""
        return _binary(self, "&", other, Binds.BIT_AND)

    def bit_or(self, other: Value) -> Sql:
        """Returns the bits of either integer."""
        return _binary(self, "|", other, Binds.BIT_OR)

    def bit_xor(self, other: Value) -> Sql:
        """Returns the bits of one of the integers."""
        return _binary(self, "^", other, Binds.BIT_XOR)

    def equals_or_both_null(self, other: Value) -> Sql:
        """Returns whether values are equal, where null equals null."""
        return _compared(self, "<=>", other)

    def is_null(self) -> Sql:
        """Returns whether the value is null."""
        return Sql(f"{_operand(self, Binds.COMPARISON)} IS NULL", Binds.PREDICATE)

    def is_not_null(self) -> Sql:
        """Returns whether the value is not null."""
        return Sql(f"{_operand(self, Binds.COMPARISON)} IS NOT NULL", Binds.PREDICATE)

    def is_in(self, *values: Value) -> Sql:
        """Returns whether the value is one of some values."""
        if not values:
            return FALSE
        return Sql(f"{_operand(self, Binds.COMPARISON)} IN ({_listed(values)})", Binds.PREDICATE)

    def between(self, low: Value, high: Value) -> Sql:
        """Returns whether the value is in a closed interval."""
        return (self >= low) & (self <= high)

    def cast(self, kind: T.DataType | str) -> Sql:
        """Returns the value converted to a type; under the ANSI mode, a value that has none fails the query."""
        return Sql(f"CAST({self} AS {type_text(kind)})")

    def try_cast(self, kind: T.DataType | str) -> Sql:
        """Returns the value converted to a type, or null."""
        return Sql(f"TRY_CAST({self} AS {type_text(kind)})")

    def alias(self, *names: str) -> Sql:
        """Returns the expression with a name, or a generator with the names of its columns."""
        shown = [quoted(name) for name in names]
        if shown == [self.text]:
            return self
        named = shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
        return Sql(f"{self} AS {named}", Binds.NAMED)

    def over(self, *, by: Iterable[Value] = (), order: Value | None = None, frame: str = "") -> Sql:
        """Returns an aggregate over the rows of a window of SQL; ``frame`` is its clause for the rows."""
        keys = _listed(by)
        parts = (
            f"PARTITION BY {keys}" if keys else "",
            "" if order is None else f"ORDER BY {lit(order)}",
            frame,
        )
        return Sql(f"{self} OVER ({' '.join(filter(None, parts))})")


Literal: TypeAlias = str | bytes | int | float | bool | date | timedelta | Mapping[str, str] | None
Value: TypeAlias = Sql | Literal | Callable[..., Sql]
"""What a function or an operator takes: an expression, a value of Python as a literal, or a function of items."""


@frozen(eq=False)
class Case(Sql):
    """A choice, which is null if no condition is true."""

    branches: str = field(default="", kw_only=True)

    def when(self, condition: Value, value: Value) -> Case:
        """Returns the choice with one more condition."""
        return _case(f"{self.branches} WHEN {lit(condition)} THEN {lit(value)}")

    def otherwise(self, value: Value) -> Sql:
        """Returns the choice with a value where no condition is true."""
        return Sql(f"CASE{self.branches} ELSE {lit(value)} END")


def when(condition: Value, value: Value) -> Case:
    """Returns a value where a condition is true, else null."""
    return _case(f" WHEN {lit(condition)} THEN {lit(value)}")


def _case(branches: str) -> Case:
    return Case(f"CASE{branches} END", branches=branches)


def __getattr__(name: str) -> Callable[..., Sql]:
    """Returns the function of Spark with a name."""
    if name.startswith("_"):
        raise AttributeError(name)
    return partial(call, name)


def call(name: str, *arguments: Value) -> Sql:
    """Returns the result of a function of Spark."""
    return Sql(f"{name}({_listed(arguments)})")


def lit(value: Value) -> Sql:
    """Returns a literal. An integer has 32 bits if it fits, else 64; for those that always have 64, see ``long``."""
    match value:
        case Sql():
            return value
        case None:
            return NULL
        case bool():
            return TRUE if value else FALSE
        case int():
            return _number(f"{value:d}")
        case float():
            return (
                _number(f"{float.__repr__(value)}D") if math.isfinite(value) else call("double", str(value))
            )
        case bytes():
            return Sql(f"X'{value.hex()}'")
        case str():
            return _text(value)
        case datetime():
            return Sql(f"TIMESTAMP_LTZ '{value.astimezone(UTC).replace(tzinfo=None)}Z'")
        case date():
            return Sql(f"DATE '{value}'")
        case timedelta():
            sign, length = "-" if value < timedelta(0) else "", abs(value)
            minutes, seconds = divmod(length.seconds, 60)
            whole = (f"{sign}{number}" for number in (length.days, *divmod(minutes, 60)))
            return Sql(f"make_dt_interval({', '.join(whole)}, {sign}{seconds}.{length.microseconds:06}BD)")
        case Mapping():
            return call("map", *(part for pair in value.items() for part in pair))
        case _:
            return _function(value)


def long(value: int) -> Sql:
    """Returns a 64-bit integer; null if the value does not fit."""
    return _number(f"{value:d}L") if value in STORED else NULL.cast("bigint")


def _number(text: str) -> Sql:
    return Sql(text, Binds.SIGN if text.startswith("-") else Binds.ATOM)


def _text(value: str) -> Sql:
    """Returns a text.

    A session may read backslashes as they are, and double quotes as those of names, and then has no escapes. It
    replaces ``${...}`` by the value of a setting, except across the parts of a literal.
    """
    if not {"'", "\\"} & {*value}:
        return Sql("'" + value.replace("${", "$' '{") + "'")
    if not {'"', "\\"} & {*value} and "${" not in value:
        return call("replace", value.replace("'", '"'), '"', call("char", ord("'")))
    return lit(value.encode()).cast("string")


def _function(of_items: Callable[..., Sql]) -> Sql:
    """Returns a function of items. Its variables have the names of its parameters, with a number within another."""
    depth = _DEPTH.get()
    names = [quoted(f"{name}{depth or ''}") for name in signature(of_items).parameters]
    token = _DEPTH.set(depth + 1)
    try:
        body = of_items(*map(Sql, names))
    finally:
        _DEPTH.reset(token)
    variables = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return Sql(f"{variables} -> {body}", Binds.NAMED)


def let(value: Sql, of_value: Callable[..., Sql]) -> Sql:
    """Returns what a function computes of a value, whose text is written once. Spark interprets such a function."""
    return call("get", call("transform", call("array", value), of_value), 0)


_DEPTH: Final[ContextVar[int]] = ContextVar("functions around this one", default=0)


def all_of(conditions: Iterable[Sql]) -> Sql:
    """Returns whether all conditions are true."""
    several = list(conditions)
    return reduce(Sql.__and__, several) if several else TRUE


def any_of(conditions: Iterable[Sql]) -> Sql:
    """Returns whether any condition is true."""
    several = list(conditions)
    return reduce(Sql.__or__, several) if several else FALSE


def quoted(name: str) -> str:
    """Returns the name of a column, in backquotes unless it is a plain word that means nothing else to a parser."""
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and f" {name.lower()} " not in _KEYWORDS:
        return name
    backquoted = f"`{name.replace('`', '``')}`"
    return f"IDENTIFIER({_text(backquoted)})" if "${" in name else backquoted


def type_text(kind: T.DataType | str) -> str:
    """Returns a type in SQL. What ``timestamp`` means depends on a setting of Spark."""
    match kind:
        case str():
            return kind.upper()
        case T.TimestampType():
            return "TIMESTAMP_LTZ"
        case T.ArrayType():
            return f"ARRAY<{type_text(kind.elementType)}>"
        case T.MapType():
            return f"MAP<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
        case T.StructType():
            return f"STRUCT<{', '.join(f'{quoted(f.name)}: {type_text(f.dataType)}' for f in kind.fields)}>"
        case _:
            return kind.simpleString().upper()


def _listed(values: Iterable[Value]) -> str:
    return ", ".join(str(lit(value)) for value in values)


def _operand(value: Value, binds: Binds) -> str:
    operand = lit(value)
    return operand.text if operand.binds >= binds else f"({operand})"


def _binary(left: Sql, operator: str, right: Value, binds: Binds) -> Sql:
    """Returns an operation that associates to the left. So do ``AND`` and ``OR``, whose order does not matter."""
    associative = binds in (Binds.AND, Binds.OR)
    other = _operand(right, binds if associative else Binds(binds + 1))
    return Sql(f"{_operand(left, binds)} {operator} {other}", binds)


def _compared(left: Sql, operator: str, right: Value) -> Sql:
    operands = (_operand(side, Binds(Binds.COMPARISON + 1)) for side in (left, right))
    return Sql(f" {operator} ".join(operands), Binds.COMPARISON)


TRUE: Final = Sql("true")
FALSE: Final = Sql("false")
NULL: Final = Sql("NULL")

_KEYWORDS: Final = (
    " all and any as authorization both call case cast check collate collation collations column constraint create "
    "cross current_date current_path current_schema current_time current_timestamp current_user distinct else end "
    "escape except execute false fetch filter for foreign from full grant group having in inner intersect into is "
    "join lateral leading left localtime natural not null offset on only or order outer overlaps primary "
    "recursive references right select session_user some sql table then time to trailing true union unique "
    "unknown user using when where with within "
)
"""The words that are no names, at least where a session reserves those of the standard."""
