"""Forms: how a field is serialized, derived from its declared type. Writing and reading each match on the form.

Where the declared type does not determine the class, the document has a tag.
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
from flowalg.pipeline.nodes import Hole, Node
from flowalg.serialization.notations import NOTATIONS
from flowalg.serialization.registry import algebra
from flowalg.windows.strategy import Forever


@frozen
class Plain:
    """A type of JSON: ``bool``, ``int``, ``float``, ``str``."""

    cls: type


@frozen
class Text:
    """A scalar that is serialized as text."""

    cls: type


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
    """A list of values of the same form; ``cls`` is the collection in Python: tuple, list or frozenset."""

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
    """The fields of a class of the algebra; the declared type identifies it, so it needs no tag."""

    cls: type


@frozen
class Function:
    """A function: its name, or a tagged callable record."""


@frozen
class TypeName:
    """A type: a class by its name, or the structure of a list, tuple or union."""


@frozen
class ShapeName:
    """A shape, serialized as the type that it is derived from."""


@frozen
class NodeNumber:
    """A node of a pipeline, as its index in the document's list of nodes."""


@frozen
class Tagged:
    """A tagged value that is an instance of one of the classes, or of any class if there are none."""

    classes: tuple[type, ...] = ()


Form: TypeAlias = (
    Plain
    | Text
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
class FieldForm:
    """A field of a class: its attribute, its constructor argument, its form, and its default.

    ``init`` is whether the field is a constructor argument.
    """

    attribute: str
    name: str
    form: Form
    default: object
    init: bool

    @property
    def required(self) -> bool:
        """Whether a document must contain the field."""
        return self.default is NOTHING


@cache
def field_forms(cls: type) -> tuple[FieldForm, ...]:
    """Returns the fields of a frozen attrs class.

    Fields that are not compared are derived, so they are omitted unless their metadata has ``written``. Defaults of
    user-defined classes are ignored, because they may change after a document was written. Raises ``NameError`` if the
    annotations of a class cannot be resolved.
    """
    hints = get_type_hints(cls, include_extras=True)
    is_algebra = algebra().get(cls.__name__) is cls
    return tuple(
        FieldForm(
            field.name,
            field.alias or field.name,
            form_of(hints.get(field.name)),
            _default_value(field.default) if is_algebra else NOTHING,
            field.init,
        )
        for field in attrs.fields(cls)
        if field.eq or field.metadata.get("written")
    )


def _default_value(default: object) -> object:
    factory: object = getattr(default, "factory", None)
    return factory() if callable(factory) else default


def form_of(hint: object) -> Form:
    """Returns the form of a declared type; ``ANYTHING`` if the type does not determine it."""
    if hint in _KNOWN:
        return _KNOWN[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return form_of(args[0])
    if origin in (Union, types.UnionType):
        return _union_form(args)
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
    return _class_form(cls) if isinstance(cls, type) else ANYTHING


def _union_form(args: tuple[object, ...]) -> Form:
    arms = tuple(arg for arg in args if arg is not types.NoneType)
    if len(arms) < len(args):
        return Maybe(form_of(arms[0]) if len(arms) == 1 else _union_form(arms))
    if set(arms) == {timedelta, Forever}:
        return Lateness()
    classes = tuple(get_origin(arm) or arm for arm in arms)
    known = tuple(class_ for class_ in classes if isinstance(class_, type))
    return Tagged(known) if len(known) == len(classes) else ANYTHING


def _class_form(cls: type) -> Form:
    if cls in (bool, int, float, str):
        return Plain(cls)
    if cls in NOTATIONS:
        return Text(cls)
    if issubclass(cls, Enum):
        return Member(cls)
    if [known for known in algebra().values() if issubclass(known, cls)] == [cls]:
        return FieldsOf(cls)
    return ANYTHING if cls is object or getattr(cls, "_is_protocol", False) else Tagged((cls,))


_KNOWN: Final[Mapping[object, Form]] = {
    None: ANYTHING,
    ElementType: TypeName(),
    type: TypeName(),
    Shape: ShapeName(),
    Node: NodeNumber(),
    Hole: NodeNumber(),
}

__all__ = [
    "ANYTHING",
    "FieldForm",
    "FieldsOf",
    "Form",
    "Function",
    "Items",
    "Lateness",
    "Maybe",
    "Member",
    "NodeNumber",
    "Pairs",
    "Plain",
    "Product",
    "ShapeName",
    "Tagged",
    "Text",
    "TypeName",
    "field_forms",
    "form_of",
]
