"""Types in documents: ``"int"``, ``"games:Score"``, ``{"list": "int"}``, ``{"union": ["int", "None"]}``.

A shape is written as the type that it is derived from; reading derives it again.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Final, TypeVar, Union, assert_never, cast, get_args, get_origin, get_type_hints

from returns.result import Failure, Result, Success

from flowalg.data.kv import KV
from flowalg.data.shapes import (
    EnumOf,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    TupleOf,
)
from flowalg.serialization.names import import_object, name_of

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
_NAMES: Final[Mapping[object, str]] = {value: name for name, value in _SHORT.items()}


def type_json(kind: object) -> Result[object, str]:
    """Returns a type as JSON, or the reason why it has no JSON form."""
    if kind is types.NoneType:
        return Success("None")
    origin, args = get_origin(kind), get_args(kind)
    if origin is None:
        short = _NAMES.get(kind) if isinstance(kind, type) or kind is None else None
        return Success(short) if short is not None else name_of(kind).map(_as_object)
    tag = Success("union") if origin in (Union, types.UnionType) else type_json(origin)
    return tag.bind(lambda name: _all(type_json(arg) for arg in args).map(lambda parts: {str(name): parts}))


def _as_object(name: str) -> object:
    return name


def type_from(json: object) -> Result[object, str]:
    """Returns the type that JSON describes, or the reason why it is not a type."""
    match json:
        case str() if json in _SHORT:
            return Success(_SHORT[json])
        case str() if ":" in json:
            return import_object(json).bind(lambda found: _require_type(json, found))
        case dict() if len(json) == 1:
            ((tag, parts),) = json.items()
            if isinstance(parts, list) and parts:
                return _all(type_from(part) for part in parts).bind(lambda args: _apply_arguments(tag, args))
        case _:
            pass
    return Failure(f"{json!r} is not a type")


def _require_type(name: str, found: object) -> Result[object, str]:
    return Success(found) if isinstance(found, type) else Failure(f"{name!r} is not a class")


def _apply_arguments(tag: str, args: list[object]) -> Result[object, str]:
    if tag == "union":
        return Success(reduce(or_, cast("list[type]", args)))
    return type_from(tag).bind(lambda origin: _subscript(tag, origin, args))


def _subscript(tag: str, origin: object, args: list[object]) -> Result[object, str]:
    try:
        subscript = getattr(origin, "__class_getitem__")  # noqa: B009  # not all types have it
        return Success(subscript(tuple(args)))
    except (AttributeError, TypeError) as error:
        return Failure(f"{tag!r} does not accept these type arguments: {error}")


def _all(results: Iterable[Result[object, str]]) -> Result[list[object], str]:
    found: list[object] = []
    for result in results:
        if not isinstance(result, Success):
            return Failure(result.failure())
        found.append(result.unwrap())
    return Success(found)


def type_of(shape: Shape) -> object:
    """Returns a type with this shape."""
    match shape:
        case Scalar(python=python):
            return python
        case EnumOf(cls=cls):
            return cls
        case OptionalOf(of=inner):
            return Union[type_of(inner), None]  # noqa: UP007  # of types that are only known here
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
    assert_never(shape)


def _record(cls: type, fields: tuple[Field, ...]) -> object:
    """Returns the record class with its type arguments."""
    parameters: tuple[object, ...] = getattr(cls, "__parameters__", ())
    if not parameters:
        return cls
    hints = get_type_hints(cls)
    given: dict[object, object] = {}
    for field in fields:
        _solve(hints[field.name], field.shape, given)
    return types.GenericAlias(cls, tuple(given.get(parameter, int) for parameter in parameters))


def _solve(hint: object, shape: Shape, given: dict[object, object]) -> None:
    """Infers the type variables in a field's annotation from the field's shape."""
    if isinstance(hint, TypeVar):
        given.setdefault(hint, type_of(shape))
        return
    args = tuple(arg for arg in get_args(hint) if arg is not types.NoneType)
    match shape:
        case OptionalOf(of=inner) if get_origin(hint) in (Union, types.UnionType):
            _solve(args[0], inner, given)
        case ListOf(of=inner) | SetOf(of=inner) if args:
            _solve(args[0], inner, given)
        case TupleOf(items=items):
            for arg, item in zip(args, items, strict=True):
                _solve(arg, item, given)
        case RecordOf(cls=cls, fields=fields) if args:
            inner_hints = get_type_hints(cls)
            variables = dict(zip(getattr(cls, "__parameters__", ()), args, strict=True))
            for field in fields:
                outer = variables.get(inner_hints[field.name])
                if outer is not None:
                    _solve(outer, field.shape, given)
        case _:
            pass


__all__ = ["type_from", "type_json", "type_of"]
