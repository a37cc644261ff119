"""Records, tuples and lists: construction and access to their parts."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from inspect import getattr_static
from types import FunctionType
from typing import Final

import attrs

from flowalg.data.errors import RecordTypeError, UserFunctionError
from flowalg.data.kv import KV
from flowalg.data.record_classes import REQUIRED, record_class
from flowalg.data.shapes import BOOLEAN, TEXT, EnumOf, ListOf, RecordOf, TupleOf, kv_of, shape_of
from flowalg.lifting.operations.conditionals import choose, is_assignable, widen
from flowalg.lifting.operations.conversions import int_constant
from flowalg.lifting.operations.sums import common_sum, inject
from flowalg.lifting.python.attributes import is_plain_attribute, lacks_attribute, reads_plainly
from flowalg.lifting.python.captured_values import MISSING, to_constant
from flowalg.lifting.python.enums import overrides
from flowalg.lifting.tree.expressions import Apply, Build, Constant, Expr, Opaque, Part, first_opaque
from flowalg.lifting.tree.failures import can_fail
from flowalg.lifting.tree.primitives import Op

_MOST_MEMBERS: Final = 64
"""The value of an enum with more members is left to Python."""


def get_part(of: Expr, index: int, name: str, location: str) -> Expr:
    """Returns a field of a record or an item of a tuple; if the expression builds the value, the part it holds."""
    assert isinstance(of.shape, RecordOf | TupleOf)
    shape = of.shape.fields[index].shape if isinstance(of.shape, RecordOf) else of.shape.items[index]
    if not isinstance(of, Build):
        return Part(of, index, name, shape)
    if any(can_fail(part) for other, part in enumerate(of.parts) if other != index):
        return Opaque(shape, f"{name} of {of.shape}, other parts of which may fail", location)
    return of.parts[index]


def get_field(of: Expr, name: str, location: str) -> Expr | None:
    """Returns a field that is a plain attribute, or ``None`` if the record has no such field."""
    assert isinstance(of.shape, RecordOf)
    for index, attribute in enumerate(of.shape.fields):
        if attribute.attribute == name and is_plain_attribute(of.shape.cls, name):
            return get_part(of, index, name, location)
    return None


def require_attribute(of: Expr, name: str, location: str) -> None:
    """Raises ``UserFunctionError`` if elements of a record class certainly lack an attribute that a function reads."""
    assert isinstance(of.shape, RecordOf)
    if first_opaque(of) is not None or not lacks_attribute(of.shape.cls, name):
        return
    names = [field.name for field in of.shape.fields]
    near = get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UserFunctionError(
        f"{location} reads {name} of {of.shape}, which has no such attribute; its fields are {', '.join(names)}{hint}"
    )


def defined_code(cls: type, name: str) -> FunctionType | property | None:
    """Returns the method or property that the record class defines, or ``None``.

    It is the code that runs, because elements are instances of exactly the declared class:
    ``flowalg.data.values.conform`` rejects subclasses.
    """
    if not reads_plainly(cls):
        return None
    attribute: object = getattr_static(cls, name, MISSING)
    return attribute if isinstance(attribute, FunctionType | property) else None


def get_item(of: Expr, index: int, location: str) -> Expr:
    """Lifts ``of[index]`` of a tuple or a list."""
    match of.shape:
        case TupleOf(items=items) if -len(items) <= index < len(items):
            return get_part(of, index % len(items), f"[{index}]", location)
        case RecordOf(cls=cls, fields=fields) if issubclass(cls, tuple) and -len(fields) <= index < len(
            fields
        ):
            return get_part(of, index % len(fields), f"[{index}]", location)
        case ListOf(of=inner):
            return Apply(Op.ITEM, (of, int_constant(index)), inner, location)
        case _:
            return Opaque(None, f"item {index} of {of.shape}", location)


def make_tuple(parts: tuple[Expr, ...], location: str) -> Expr:
    """Lifts a tuple."""
    shapes = tuple(part.shape for part in parts if part.shape is not None)
    if not parts or len(shapes) != len(parts):
        return _first_unknown(parts) or Opaque(None, "a tuple with a part of unknown type", location)
    return Build(TupleOf(shapes), parts)


def make_list(parts: tuple[Expr, ...], location: str) -> Expr:
    """Lifts a list whose items have the same shape."""
    shapes = [part.shape for part in parts if part.shape is not None]
    shape = common_sum(*shapes) if shapes and len(shapes) == len(parts) else None
    items = [inject(part, shape) for part in parts] if shape is not None else []
    if shape is None or None in items:
        return _first_unknown(parts) or Opaque(None, "a list whose items have no common type", location)
    return Apply(Op.LIST, tuple(item for item in items if item is not None), ListOf(shape), location)


def _first_unknown(parts: tuple[Expr, ...]) -> Opaque | None:
    return next((part for part in parts if isinstance(part, Opaque)), None)


def enum_attribute(of: Expr, name: str, location: str) -> Expr:
    """Lifts ``name`` or ``value`` of an enum member."""
    assert isinstance(of.shape, EnumOf)
    cls = of.shape.cls
    if name not in ("name", "value") or overrides(cls, name):
        return Opaque(None, f"the attribute {name} of {cls.__name__}", location)
    if name == "name":
        return Apply(Op.ENUM_NAME, (of,), TEXT, location)
    values = [to_constant(member.value) for member in cls]
    if None in values or len(values) > _MOST_MEMBERS or len({value.shape for value in values if value}) != 1:
        return Opaque(
            None, f"the value of {cls.__name__}, whose values are not constants of one type", location
        )
    lifted: Expr | None = None
    for member, value in zip(reversed(list(cls)), reversed(values), strict=True):
        assert value is not None
        is_it = Apply(Op.EQUAL, (of, Constant(member, of.shape)), BOOLEAN, location)
        lifted = value if lifted is None else choose(is_it, value, lifted, location)
    return lifted or Opaque(None, f"{cls.__name__} has no members", location)


def construct(cls: type, positional: tuple[Expr, ...], named: Mapping[str, Expr], location: str) -> Expr:
    """Lifts ``cls(...)`` if the constructor only stores its arguments in fields."""
    try:
        shape = _shape_with(cls, positional, named)
    except (RecordTypeError, TypeError):
        return Opaque(None, f"construction of {cls.__name__}", location)
    record = record_class(cls)
    assert record is not None, "a record class"
    attributes = record.attributes
    if not record.plain:
        return Opaque(
            shape, f"{cls.__name__}, which has a custom constructor, converter or validator", location
        )
    aliases = [each.argument for each in attributes if not each.keyword_only and each.argument is not None]
    if len(positional) > len(aliases):
        return Opaque(shape, f"more than the {len(aliases)} positional arguments of {cls.__name__}", location)
    arguments = {**dict(zip(aliases, positional, strict=False)), **named}
    if len(arguments) != len(positional) + len(named) or arguments.keys() > {
        attribute.argument for attribute in attributes
    }:
        return Opaque(shape, f"arguments that do not match the fields of {cls.__name__}", location)
    parts = []
    for attribute, field in zip(attributes, shape.fields, strict=True):
        value = arguments.pop(attribute.argument or attribute.name, None)
        if value is None and attribute.default is not REQUIRED:
            value = to_constant(attribute.default)
        if value is None:
            return Opaque(shape, f"{cls.__name__}.{field.name}, whose default is not a constant", location)
        if not is_assignable(field.shape, value):
            described = "None" if value.shape is None else value.shape
            if isinstance(value, Opaque):
                return Opaque(shape, value.reason, value.location)
            return Opaque(
                shape,
                f"{cls.__name__}.{field.name}, which has type {field.shape} and receives {described}",
                location,
            )
        parts.append(widen(value, field.shape))
    if arguments:
        return Opaque(shape, f"arguments that do not match the fields of {cls.__name__}", location)
    return Build(shape, tuple(parts))


def evolve(of: Expr, changes: Mapping[str, Expr], location: str) -> Expr:
    """Lifts ``evolve(of, ...)`` of attrs, and the like of other libraries (``is_evolve``)."""
    record = record_class(of.shape.cls) if isinstance(of.shape, RecordOf) else None
    if not isinstance(of.shape, RecordOf) or record is None:
        return Opaque(None, f"evolve of {of.shape}", location)
    attributes = record.attributes
    if len(attributes) != len(of.shape.fields):  # elements have no instances of the class
        return Opaque(None, f"evolve of {of.shape}", location)
    kept: dict[str, Expr] = {}
    for index, attribute in enumerate(attributes):
        alias = attribute.argument or attribute.name
        if alias in changes:
            continue
        if not is_plain_attribute(of.shape.cls, attribute.name):
            return Opaque(of.shape, f"{of.shape}.{attribute.name}, which is not a plain field", location)
        kept[alias] = Part(of, index, attribute.name, of.shape.fields[index].shape)
        if isinstance(of, Build):
            kept[alias] = of.parts[index]
    if isinstance(of, Build) and can_fail(of):
        return Opaque(of.shape, f"evolve of {of.shape}, parts of which may fail", location)
    return construct(of.shape.cls, (), {**kept, **changes}, location)


def is_evolve(target: object) -> bool:
    """Returns whether a function returns a record with some other fields: that of attrs, dataclasses or msgspec."""
    structs = sys.modules.get("msgspec.structs")
    known = (attrs.evolve, dataclasses.replace, getattr(structs, "replace", None))
    return target is not None and any(target is function for function in known)


def _shape_with(cls: type, positional: tuple[Expr, ...], named: Mapping[str, Expr]) -> RecordOf:
    """Returns the shape of a record class; that of ``KV`` depends on the arguments."""
    if cls is KV:
        pair = [*positional, *(named[name] for name in ("key", "value") if name in named)]
        key, value = (part.shape for part in pair)
        if key is None or value is None:
            raise RecordTypeError("a KV with a part of unknown type")
        return kv_of(key, value)
    shape = shape_of(cls)
    if not isinstance(shape, RecordOf):
        raise RecordTypeError(f"{cls.__name__} is not a record class")
    return shape
