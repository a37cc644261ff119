"""How a field is written, from its declared type: a small closed tree, so that writing and reading are a match each.

What a type does not tell, a tag in the document does.
"""

from __future__ import annotations

import types
from collections.abc import Callable as CallableABC
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from functools import cache
from typing import Annotated, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import NOTHING, frozen

from flowalg.data.shapes import ElementType, Shape
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.nodes import Hole, Node
from flowalg.serialization.registry import algebra
from flowalg.serialization.texts import NOTATIONS
from flowalg.windows.strategy import Forever


@frozen
class Plain:
    """A value that JSON has: ``bool``, ``int``, ``float``, ``str``."""

    cls: type


@frozen
class Text:
    """A scalar that is written as text."""

    cls: type


@frozen
class Point:
    """A point in time, which is an ``int`` here and text in documents."""


@frozen
class Lateness:
    """A duration, or ``FOREVER``."""


@frozen
class Member:
    """A member of an enum, by its name."""

    cls: type[Enum]


@frozen
class Maybe:
    """A value or ``null``."""

    of: Form


@frozen
class Items:
    """A list of values of one form; ``cls`` is what Python holds them in: tuple, list or frozenset."""

    of: Form
    cls: type


@frozen
class Product:
    """A tuple of fixed length."""

    items: tuple[Form, ...]


@frozen
class Pairs:
    """A mapping, as a list of pairs."""

    key: Form
    value: Form


@frozen
class FieldsOf:
    """The fields of one class of the algebra, which need no tag."""

    cls: type


@frozen
class Function:
    """A function: by its name, or a tagged record that can be called."""


@frozen
class TypeName:
    """A type: a class by its name, or the structure of a list, tuple or union."""


@frozen
class ShapeName:
    """A shape, as the type that it is derived from."""


@frozen
class NodeNumber:
    """A node of a pipeline, as its number in the document's list."""


@frozen
class Tagged:
    """Any value that is an instance of one of some classes (of any, if there are none), as a tag says."""

    classes: tuple[type, ...] = ()


Form: TypeAlias = (
    Plain
    | Text
    | Point
    | Lateness
    | Member
    | Maybe
    | Items
    | Product
    | Pairs
    | FieldsOf
    | Function
    | TypeName
    | ShapeName
    | NodeNumber
    | Tagged
)

ANYTHING: Final = Tagged()


@frozen
class Part:
    """A field of a class: its attribute, the constructor's name for it, its form, and its default.

    ``init`` says whether the constructor takes it.
    """

    attribute: str
    name: str
    form: Form
    default: object
    init: bool

    @property
    def required(self) -> bool:
        """Whether a document must give it."""
        return self.default is NOTHING


@cache
def parts_of(cls: type) -> tuple[Part, ...]:
    """The fields of a frozen attrs class.

    Fields that take no part in equality are derived, and not written unless their metadata says so.

    A user's class has no defaults here: they may change while documents are kept. Raises ``NameError`` when the
    annotations of a class cannot be resolved.
    """
    hints = get_type_hints(cls, include_extras=True)
    ours = algebra().get(cls.__name__) is cls
    return tuple(
        Part(
            field.name,
            field.alias or field.name,
            form_of(hints.get(field.name)),
            _default(field.default) if ours else NOTHING,
            field.init,
        )
        for field in attrs.fields(cls)
        if field.eq or field.metadata.get("written")
    )


def _default(default: object) -> object:
    factory: object = getattr(default, "factory", None)
    return factory() if callable(factory) else default


def form_of(hint: object) -> Form:
    """The form of a declared type; ``ANYTHING`` where the type does not tell."""
    if hint in _KNOWN:
        return _KNOWN[hint]
    supertype: object = getattr(hint, "__supertype__", None)
    if supertype is not None:
        return form_of(supertype)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return form_of(args[0])
    if origin in (Union, types.UnionType):
        return _union(args)
    if origin is CallableABC:
        return Function()
    if origin is type:
        return TypeName()
    if origin in (list, frozenset) and len(args) == 1:
        return Items(form_of(args[0]), origin)
    if origin is tuple and args:
        if len(args) == 2 and args[1] is Ellipsis:
            return Items(form_of(args[0]), tuple)
        return Product(tuple(form_of(arg) for arg in args))
    if origin in (Mapping, dict) and len(args) == 2:
        return Pairs(form_of(args[0]), form_of(args[1]))
    cls = hint if origin is None else origin
    return _class(cls) if isinstance(cls, type) else ANYTHING


def _union(args: tuple[object, ...]) -> Form:
    arms = tuple(arg for arg in args if arg is not types.NoneType)
    if len(arms) < len(args):
        return Maybe(form_of(arms[0]) if len(arms) == 1 else _union(arms))
    if set(arms) == {timedelta, Forever}:
        return Lateness()
    classes = tuple(get_origin(arm) or arm for arm in arms)
    known = tuple(class_ for class_ in classes if isinstance(class_, type))
    return Tagged(known) if len(known) == len(classes) else ANYTHING


def _class(cls: type) -> Form:
    if cls in (bool, int, float, str):
        return Plain(cls)
    if cls in NOTATIONS:
        return Text(cls)
    if issubclass(cls, Enum):
        return Member(cls)
    if [one for one in algebra().values() if issubclass(one, cls)] == [cls]:
        return FieldsOf(cls)
    return ANYTHING if cls is object or getattr(cls, "_is_protocol", False) else Tagged((cls,))


_KNOWN: Final[Mapping[object, Form]] = {
    None: ANYTHING,
    EventTime: Point(),
    ProcessingTime: Point(),
    ElementType: TypeName(),
    type: TypeName(),
    Shape: ShapeName(),
    Node: NodeNumber(),
    Hole: NodeNumber(),
}

__all__ = [
    "ANYTHING",
    "FieldsOf",
    "Form",
    "Function",
    "Items",
    "Lateness",
    "Maybe",
    "Member",
    "NodeNumber",
    "Pairs",
    "Part",
    "Plain",
    "Point",
    "Product",
    "ShapeName",
    "Tagged",
    "Text",
    "TypeName",
    "form_of",
    "parts_of",
]
