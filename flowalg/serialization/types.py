"""Types in documents: ``"int"``, ``"games:Score"``, ``{"list": "int"}``, ``{"union": ["int", "None"]}``.

A shape is written as the type that it is derived from; reading derives it again.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final, TypeVar, Union, assert_never, get_args, get_origin, get_type_hints

from returns.maybe import Maybe

from flowalg.data.errors import RecordTypeError, format_value
from flowalg.data.kv import KV
from flowalg.data.shapes import (
    EnumOf,
    Field,
    ListOf,
    MapOf,
    MaybeOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
    shape_of,
)
from flowalg.serialization.codecs import Codec
from flowalg.serialization.names import AT_TOP_LEVEL, import_object, name_of, unwrap_or_raise
from flowalg.serialization.paths import DocumentPath

_SHORT: Final[Mapping[str, object]] = {
    "None": None,
    "object": object,
    **{
        scalar.__name__: scalar
        for scalar in (
            *(bool, int, float, str, bytes, list, set, frozenset, tuple),
            *(datetime, date, timedelta, Decimal, KV),
        )
    },
}
_NAMES: Final[Mapping[object, str]] = {
    types.NoneType: "None",
    **{kind: name for name, kind in _SHORT.items()},
}


def _write_type(kind: object, at: DocumentPath) -> object:
    def written(part: object) -> object:
        origin, args = get_origin(part), get_args(part)
        if origin is not None:
            tag = "union" if origin in (Union, types.UnionType) else written(origin)
            return {str(tag): [written(arg) for arg in args]}
        short = _NAMES.get(part) if isinstance(part, type) or part is None else None
        return short or unwrap_or_raise(
            name_of(part),
            lambda reason: at.unwritable(f"is {format_value(kind)}, a type that {reason}; {AT_TOP_LEVEL}"),
        )

    return written(kind)


def _read_type(json: object, at: DocumentPath) -> object:
    match json:
        case str() if json in _SHORT:
            return _SHORT[json]
        case str() if ":" in json:
            imported = unwrap_or_raise(import_object(json), at.unreadable)
            if isinstance(imported, type):
                return imported
            raise at.unreadable(f"{json!r} is not a class")
        case dict() if len(json) == 1:
            ((tag, parts),) = json.items()
            if isinstance(parts, list) and parts:
                args = [_read_type(part, at) for part in parts]
                return Union[tuple(args)] if tag == "union" else _applied(tag, args, at)  # noqa: UP007
        case _:
            pass
    raise at.unreadable(f"{json!r} is not a type")


def _applied(tag: str, args: list[object], at: DocumentPath) -> object:
    origin = _read_type(tag, at)
    try:
        subscript = getattr(origin, "__class_getitem__")  # noqa: B009  # not all types have it
        return subscript(tuple(args))
    except (AttributeError, TypeError) as error:
        raise at.unreadable(f"{tag!r} does not accept these type arguments: {error}") from error


TYPE: Final = Codec(_write_type, _read_type)
"""A type: a class by its name, or the structure of a list, tuple or union."""


def _write_shape(shape: object, at: DocumentPath) -> object:
    if not isinstance(shape, Shape):
        raise at.mistyped(shape)
    kind: object = None
    try:
        kind = type_of(shape)
        is_derived = shape_of(kind) == shape
    except (RecordTypeError, TypeError, ValueError, NameError):
        is_derived = False
    if not is_derived:
        raise at.unwritable(
            f"is {shape}, whose type cannot be derived from its fields; use a class without type variables"
        )
    return _write_type(kind, at)


def _read_shape(json: object, at: DocumentPath) -> object:
    try:
        return shape_of(_read_type(json, at))
    except RecordTypeError as error:
        raise at.unreadable(error) from error


SHAPE: Final = Codec(_write_shape, _read_shape)
"""A shape: the type that it is derived from."""


def type_of(shape: Shape) -> object:
    """Returns a type with this shape."""
    match shape:
        case Scalar(python=python):
            return python
        case EnumOf(cls=cls):
            return cls
        case OptionalOf(of=inner):
            return Union[type_of(inner), None]  # noqa: UP007  # of types that are only known here
        case MaybeOf(of=inner):
            return types.GenericAlias(Maybe, (type_of(inner),))
        case ListOf(of=inner):
            return types.GenericAlias(list, (type_of(inner),))
        case SetOf(of=inner, mutable=mutable):
            return types.GenericAlias(set if mutable else frozenset, (type_of(inner),))
        case MapOf(key=key, value=value):
            return types.GenericAlias(Mapping, (type_of(key), type_of(value)))
        case TupleOf(items=items):
            return types.GenericAlias(tuple, tuple(type_of(item) for item in items))
        case RecordOf(cls=cls, fields=fields):
            return _record(cls, fields)
        case SumOf(members=members):
            return Union[tuple(type_of(member.shape) for member in members)]  # noqa: UP007
    assert_never(shape)


def _record(cls: type, fields: tuple[Field, ...]) -> object:
    """Returns the record class with its type arguments."""
    parameters: tuple[object, ...] = getattr(cls, "__parameters__", ())
    if not parameters:
        return cls
    hints = get_type_hints(cls)
    solution: dict[object, object] = {}
    for field in fields:
        _solve(hints[field.attribute], field.shape, solution)
    return types.GenericAlias(cls, tuple(solution.get(parameter, int) for parameter in parameters))


def _solve(hint: object, shape: Shape, solution: dict[object, object]) -> None:
    """Infers the type variables in a field's annotation from the field's shape."""
    if isinstance(hint, TypeVar):
        solution.setdefault(hint, type_of(shape))
        return
    args = tuple(arg for arg in get_args(hint) if arg is not types.NoneType)
    match shape:
        case OptionalOf(of=inner) if get_origin(hint) in (Union, types.UnionType):
            _solve(args[0], inner, solution)
        case MaybeOf(of=inner) | ListOf(of=inner) | SetOf(of=inner) if args:
            _solve(args[0], inner, solution)
        case TupleOf(items=items):
            for arg, item in zip(args, items, strict=True):
                _solve(arg, item, solution)
        case RecordOf(cls=cls, fields=fields) if args:
            inner_hints = get_type_hints(cls)
            variables = dict(zip(getattr(cls, "__parameters__", ()), args, strict=True))
            for field in fields:
                outer = variables.get(inner_hints[field.attribute])
                if outer is not None:
                    _solve(outer, field.shape, solution)
        case _:
            pass
