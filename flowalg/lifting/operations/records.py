"""Records, tuples and lists: their parts, and how they are made."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping
from inspect import getattr_static
from types import FunctionType
from typing import Final

import attrs

from flowalg.data.errors import RecordTypeError
from flowalg.data.kv import KV
from flowalg.data.shapes import BOOLEAN, TEXT, EnumOf, ListOf, RecordOf, TupleOf, kv_of, shape_of
from flowalg.lifting.operations.choices import accepts, choose, widened
from flowalg.lifting.operations.conversions import number
from flowalg.lifting.python.attributes import plain_attribute
from flowalg.lifting.python.captured import MISSING, constant_of
from flowalg.lifting.python.enums import has_own
from flowalg.lifting.tree.expressions import Apply, Build, Constant, Expr, Opaque, Part
from flowalg.lifting.tree.failures import can_fail
from flowalg.lifting.tree.primitives import Op

_MOST_MEMBERS: Final = 64
"""Of enums with more members the value is left to Python."""


def part(of: Expr, index: int, name: str, place: str) -> Expr:
    """A field of a record, or an item of a tuple; of one that has just been made, what it was made of."""
    assert isinstance(of.shape, RecordOf | TupleOf)
    shape = of.shape.fields[index].shape if isinstance(of.shape, RecordOf) else of.shape.items[index]
    if not isinstance(of, Build):
        return Part(of, index, name, shape)
    if any(can_fail(one) for other, one in enumerate(of.parts) if other != index):
        return Opaque(shape, f"{name} of {of.shape}, other parts of which may fail", place)
    return of.parts[index]


def field(of: Expr, name: str, place: str) -> Expr | None:
    """A field that is nothing but stored; ``None`` if the record has no such."""
    assert isinstance(of.shape, RecordOf)
    for index, attribute in enumerate(of.shape.fields):
        if attribute.name == name and plain_attribute(of.shape.cls, name):
            return part(of, index, name, place)
    return None


def own_code(cls: type, name: str) -> FunctionType | property | None:
    """A method or property that the record class defines.

    Elements are of exactly the class that a collection declares (``flowalg.values.conform`` refuses subclasses), so
    that this is the code that runs.
    """
    if getattr_static(cls, "__getattribute__") is not object.__getattribute__:
        return None
    found: object = getattr_static(cls, name, MISSING)
    return found if isinstance(found, FunctionType | property) else None


def item(of: Expr, index: int, place: str) -> Expr:
    """``of[index]``, of a tuple or a list."""
    match of.shape:
        case TupleOf(items=items) if -len(items) <= index < len(items):
            return part(of, index % len(items), f"[{index}]", place)
        case ListOf(of=inner):
            return Apply(Op.ITEM, (of, number(index)), inner, place)
        case _:
            return Opaque(None, f"item {index} of a {of.shape}", place)


def tuple_of(parts: tuple[Expr, ...], place: str) -> Expr:
    """A tuple."""
    shapes = tuple(one.shape for one in parts if one.shape is not None)
    if not parts or len(shapes) != len(parts):
        return _first_unknown(parts) or Opaque(None, "a tuple with a part of unknown type", place)
    return Build(TupleOf(shapes), parts)


def list_of(parts: tuple[Expr, ...], place: str) -> Expr:
    """A list of values of one shape."""
    shapes = {one.shape for one in parts}
    if len(shapes) != 1 or None in shapes:
        return _first_unknown(parts) or Opaque(None, "a list whose items have no shape in common", place)
    shape = parts[0].shape
    assert shape is not None
    return Apply(Op.LIST, parts, ListOf(shape), place)


def _first_unknown(parts: tuple[Expr, ...]) -> Opaque | None:
    return next((one for one in parts if isinstance(one, Opaque)), None)


def enum_attribute(of: Expr, name: str, place: str) -> Expr:
    """``name`` or ``value`` of an enum's member."""
    assert isinstance(of.shape, EnumOf)
    cls = of.shape.cls
    if name not in ("name", "value") or has_own(cls, name):
        return Opaque(None, f"the attribute {name} of {cls.__name__}", place)
    if name == "name":
        return Apply(Op.ENUM_NAME, (of,), TEXT, place)
    values = [constant_of(member.value) for member in cls]
    if None in values or len(values) > _MOST_MEMBERS or len({value.shape for value in values if value}) != 1:
        return Opaque(None, f"the value of {cls.__name__}, whose values are not constants of one type", place)
    lifted: Expr | None = None
    for member, value in zip(reversed(list(cls)), reversed(values), strict=True):
        assert value is not None
        is_it = Apply(Op.EQUAL, (of, Constant(member, of.shape)), BOOLEAN, place)
        lifted = value if lifted is None else choose(is_it, value, lifted, place)
    return lifted or Opaque(None, f"{cls.__name__} has no members", place)


def construct(cls: type, positional: tuple[Expr, ...], named: Mapping[str, Expr], place: str) -> Expr:
    """``cls(...)``: lifted when constructing the record does nothing but store its fields."""
    try:
        shape = _shape_with(cls, positional, named)
    except (RecordTypeError, TypeError):
        return Opaque(None, f"the construction of {cls.__name__}", place)
    attributes = attrs.fields(cls)
    if not only_stores(cls):
        return Opaque(shape, f"{cls.__name__} has an initialiser, converter or validator of its own", place)
    aliases = [attribute.alias or attribute.name for attribute in attributes if not attribute.kw_only]
    if len(positional) > len(aliases):
        return Opaque(shape, f"{cls.__name__} takes {len(aliases)} positional arguments", place)
    given = {**dict(zip(aliases, positional, strict=False)), **named}
    if len(given) != len(positional) + len(named) or given.keys() > {
        attribute.alias for attribute in attributes
    }:
        return Opaque(shape, f"{cls.__name__} is given arguments that it does not take", place)
    parts = []
    for attribute, one in zip(attributes, shape.fields, strict=True):
        value = given.pop(attribute.alias or attribute.name, None)
        if value is None and attribute.default is not attrs.NOTHING:
            value = constant_of(attribute.default)
        if value is None:
            return Opaque(shape, f"{cls.__name__}.{one.name} is left to its default", place)
        if not accepts(one.shape, value):
            described = "None" if value.shape is None else value.shape
            if isinstance(value, Opaque):
                return Opaque(shape, value.reason, value.place)
            return Opaque(
                shape, f"{cls.__name__}.{one.name} is a {one.shape} and is given {described}", place
            )
        parts.append(widened(value, one.shape))
    if given:
        return Opaque(shape, f"{cls.__name__} is given arguments that it does not take", place)
    return Build(shape, tuple(parts))


def evolve(of: Expr, changes: Mapping[str, Expr], place: str) -> Expr:
    """``attrs.evolve(of, ...)``."""
    if not isinstance(of.shape, RecordOf):
        return Opaque(None, f"attrs.evolve of a {of.shape}", place)
    kept: dict[str, Expr] = {}
    for index, attribute in enumerate(attrs.fields(of.shape.cls)):
        alias = attribute.alias or attribute.name
        if alias in changes:
            continue
        if not plain_attribute(of.shape.cls, attribute.name):
            return Opaque(of.shape, f"{of.shape} has code of its own behind {attribute.name}", place)
        kept[alias] = Part(of, index, attribute.name, of.shape.fields[index].shape)
        if isinstance(of, Build):
            kept[alias] = of.parts[index]
    if isinstance(of, Build) and can_fail(of):
        return Opaque(of.shape, f"attrs.evolve of {of.shape}, parts of which may fail", place)
    return construct(of.shape.cls, (), {**kept, **changes}, place)


def only_stores(cls: type) -> bool:
    """Whether the construction of a record does nothing but store its fields."""
    return (
        type(cls) in (type, ABCMeta)
        and attrs.inspect(cls).added_init
        and not hasattr(cls, "__attrs_post_init__")
        and not hasattr(cls, "__attrs_pre_init__")
        and getattr_static(cls, "__new__") is getattr_static(object, "__new__")
        and not any(
            attribute.converter is not None or attribute.validator is not None
            for attribute in attrs.fields(cls)
        )
    )


def _shape_with(cls: type, positional: tuple[Expr, ...], named: Mapping[str, Expr]) -> RecordOf:
    """The shape of a record class; that of ``KV`` follows from its arguments."""
    if cls is KV:
        pair = [*positional, *(named[name] for name in ("key", "value") if name in named)]
        key, value = (one.shape for one in pair)
        if key is None or value is None:
            raise RecordTypeError("a KV with a part of unknown type")
        return kv_of(key, value)
    shape = shape_of(cls)
    if not isinstance(shape, RecordOf):
        raise RecordTypeError(f"{cls.__name__} is not a record class")
    return shape


__all__ = [
    "construct",
    "enum_attribute",
    "evolve",
    "field",
    "item",
    "list_of",
    "only_stores",
    "own_code",
    "part",
    "tuple_of",
]
