"""The values that names refer to, captured when the pipeline is compiled.

A variable that is reassigned later keeps its captured value in a lifted function. Only immutable values are captured:
scalars, enum members, and tuples of them. Functions that use mutable values, such as lists, are left to Python.
"""

from __future__ import annotations

import builtins
import inspect
from abc import ABCMeta
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, EnumType
from functools import partial
from types import FunctionType, ModuleType
from typing import Final

from returns.maybe import Nothing

from flowalg.data.errors import FlowalgError
from flowalg.data.record_classes import record_class
from flowalg.data.shapes import (
    BOOLEAN,
    DAY,
    DECIMAL,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    EnumOf,
    TupleOf,
)
from flowalg.data.values import conform
from flowalg.lifting.python.attributes import is_plain_attribute
from flowalg.lifting.python.enums import is_plain
from flowalg.lifting.tree.expressions import Build, Constant, Expr
from flowalg.lifting.tree.intervals import EXACT

MISSING: Final = object()
"""The result for a name that does not refer to a known value."""


def to_constant(value: object) -> Expr | None:
    """Returns an immutable value as an expression; ``None`` for other values."""
    if value is None:
        return Constant(None, None)
    if value is Nothing:
        return Constant(Nothing, None)
    if isinstance(value, Enum):
        return Constant(value, EnumOf(type(value))) if is_plain(type(value)) else None
    kind = type(value)
    if isinstance(value, tuple) and kind is tuple:
        return _tuple(value)
    if isinstance(value, str) and kind is str:
        return Constant(value, TEXT) if _encodable(value) else None
    if isinstance(value, datetime) and kind is datetime:
        return _point(value)
    return _number(value)


def _tuple(items: tuple[object, ...]) -> Expr | None:
    parts = tuple(part for part in map(to_constant, items) if part is not None)
    shapes = tuple(part.shape for part in parts if part.shape is not None)
    return Build(TupleOf(shapes), parts) if items and len(shapes) == len(items) else None


def _number(value: object) -> Constant | None:
    match value:
        case bool():
            return Constant(value, BOOLEAN)
        case int() if type(value) is int and value in EXACT:
            return Constant(value, INTEGER)
        case float() if type(value) is float:
            return Constant(value, FLOAT)
        case date() if type(value) is date:
            return Constant(value, DAY)
        case timedelta() if type(value) is timedelta:
            return Constant(value, DURATION)
        case Decimal() if type(value) is Decimal and _conforms(value):
            return Constant(value, DECIMAL)
        case _:
            return None


def _point(value: datetime) -> Constant | None:
    """Lifts a datetime, unless it is ambiguous in its time zone (PEP 495): such datetimes equal no other."""
    if value.utcoffset() is None or value.utcoffset() != value.replace(fold=1 - value.fold).utcoffset():
        return None
    return Constant(value.replace(tzinfo=UTC) if _is_utc(value) else value, TIMESTAMP)


def _is_utc(value: datetime) -> bool:
    return getattr(value.tzinfo, "key", None) == "UTC" or value.tzinfo == UTC


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _conforms(value: Decimal) -> bool:
    try:
        conform(value, DECIMAL, "a captured Decimal")
    except FlowalgError:
        return False
    return True


def resolve_global(f: FunctionType, name: str) -> object:
    """Returns the current value of a name that is neither a parameter nor a local variable of a function."""
    code = f.__code__
    if name in code.co_varnames or name in code.co_cellvars:
        return MISSING
    if name in code.co_freevars:
        cell = (f.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            return MISSING
    return f.__globals__[name] if name in f.__globals__ else vars(builtins).get(name, MISSING)


def default_values(f: FunctionType) -> dict[str, object]:
    """Returns the current default values of a function, by parameter."""
    defaults, code = f.__defaults__ or (), f.__code__
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return dict(zip(names, defaults, strict=True)) | (f.__kwdefaults__ or {})


def without_partial(
    f: object, args: tuple[Expr, ...], named: Mapping[str, Expr]
) -> tuple[object, tuple[Expr, ...], Mapping[str, Expr]] | None:
    """Returns the function that a call calls, and its arguments, with those of ``functools.partial``.

    ``None`` if one of these values can be changed.
    """
    if not isinstance(f, partial) or type(f) is not partial:
        return f, args, named
    first = [to_constant(value) for value in f.args]
    by_name = {name: to_constant(value) for name, value in f.keywords.items() if name not in named}
    constants = [value for value in (*first, *by_name.values()) if value is not None]
    if len(constants) < len(first) + len(by_name):
        return None
    names = dict(zip(by_name, constants[len(first) :], strict=True))
    return f.func, (*constants[: len(first)], *args), {**names, **named}


def resolve_attribute(owner: object, name: str) -> object:
    """Returns an attribute of a module, class, enum or frozen record, if reading it runs no code; else ``MISSING``."""
    if isinstance(owner, EnumType):
        return owner.__members__.get(name, MISSING)
    if type(owner) in (ModuleType, type, ABCMeta):
        return inspect.getattr_static(owner, name, MISSING)
    kind: type = type(owner)
    record = record_class(kind)
    if record is not None and record.frozen and is_plain_attribute(kind, name):
        return getattr(owner, name, MISSING)
    return MISSING
