"""Record classes of attrs, dataclasses, typing, pydantic and msgspec, seen alike: their fields, and how one is made.

Of pydantic and msgspec, which need not be installed, only what their classes have is read.
"""

from __future__ import annotations

import dataclasses
from abc import ABCMeta
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from inspect import Parameter, getattr_static, signature
from types import FunctionType
from typing import Any, Final

import attrs
from attrs import frozen
from returns.maybe import Some
from returns.result import Failure, Success

CONTAINERS: Final[tuple[type, ...]] = (Some, Success, Failure)
"""The classes of ``returns`` with one value, which are records with the field ``value``."""

CONTAINED: Final = "_inner_value"
"""The attribute of a container that has its value."""


class Required(Enum):
    """Stands for the default of a field that has none."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED


@frozen
class Factory:
    """A default that a function makes."""

    make: Callable[[], object]


@frozen(eq=False)
class Attribute:
    """A field of a record class: its attribute, and the argument of the constructor, which is ``None`` without one.

    ``default`` is ``REQUIRED``, a ``Factory``, or the value. A field is ``compared`` if equality depends on it.
    """

    name: str
    argument: str | None
    default: object = REQUIRED
    keyword_only: bool = False
    compared: bool = True

    @property
    def made(self) -> object:
        """The default, which a factory has made; ``REQUIRED`` without one."""
        return self.default.make() if isinstance(self.default, Factory) else self.default


@frozen(eq=False)
class RecordClass:
    """A record class: its fields in the order of its constructor.

    Objects of a class that is not ``frozen`` can be changed. The constructor of a ``plain`` one only stores its
    arguments. ``fault`` says why objects of the class cannot be elements, if they cannot.
    """

    cls: type
    attributes: tuple[Attribute, ...]
    frozen: bool
    plain: bool
    fault: str | None

    def make(self, fields: Mapping[str, object]) -> object:
        """Returns the record with some values of its attributes."""
        record: object = self.cls(
            **{each.argument: fields[each.name] for each in self.attributes if each.argument is not None}
        )
        return record


@lru_cache(maxsize=4096)
def record_class(cls: type) -> RecordClass | None:
    """Returns the record class that a class is; ``None`` for another class."""
    if issubclass(cls, Enum):
        return None
    return next((found for kind in _KINDS if (found := kind(cls)) is not None), None)


@lru_cache(maxsize=4096)
def attributes_of(cls: type) -> tuple[str, ...] | None:
    """Returns the attributes that have the fields of a record, in their order; ``None`` for another class."""
    if cls in CONTAINERS:
        return (CONTAINED,)
    record = record_class(cls)
    return None if record is None else tuple(attribute.name for attribute in record.attributes)


def restore(cls: type, fields: Mapping[str, object]) -> object:
    """Returns the record with some values of its attributes, without the converters and validators of its class."""
    if issubclass(cls, tuple):
        return tuple.__new__(cls, fields.values())
    if "__pydantic_fields__" in vars(cls):
        construct: Callable[..., object] = getattr(cls, "model_construct")  # noqa: B009  # of pydantic
        return construct(**fields)
    kind: type = cls
    record = record_class(kind)
    if record is not None and type(kind) not in (type, ABCMeta):
        return record.make(fields)
    restored: object = object.__new__(cls)
    if _HASH in getattr(cls, "__slots__", ()):
        object.__setattr__(restored, _HASH, None)
    for name, value in fields.items():
        object.__setattr__(restored, name, value)
    return restored


_HASH: Final = "_attrs_cached_hash"


def _fault(remedy: str, *, declared: bool, frozen: bool) -> str | None:
    if not declared:
        return f"inherits from a record class; make it one itself: {remedy}"
    return None if frozen else f"is mutable; a record class must be frozen: {remedy}"


def _of_attrs(cls: type) -> RecordClass | None:
    if not attrs.has(cls):
        return None
    decorated = next(base for base in cls.__mro__ if "__attrs_attrs__" in vars(base))
    properties, fields = attrs.inspect(decorated), attrs.fields(cls)
    attributes = tuple(
        Attribute(
            field.name,
            (field.alias or field.name) if field.init else None,
            _default_of_attrs(field.default),
            field.kw_only,
            bool(field.eq),
        )
        for field in fields
    )
    plain = (
        _is_made_by_init(cls)
        and properties.added_init
        and not hasattr(cls, "__attrs_post_init__")
        and not hasattr(cls, "__attrs_pre_init__")
        and all(field.converter is None and field.validator is None for field in fields)
    )
    frozen = properties.is_frozen
    fault = _fault("use @frozen from attrs", declared=decorated is cls, frozen=frozen)
    return RecordClass(cls, attributes, frozen, plain, fault)


def _default_of_attrs(default: Any) -> object:  # noqa: ANN401  # as attrs types it
    if default is attrs.NOTHING or getattr(default, "takes_self", False):
        return REQUIRED
    factory = getattr(default, "factory", None)
    return default if factory is None else Factory(factory)


def _of_dataclass(cls: type) -> RecordClass | None:
    if not dataclasses.is_dataclass(cls):
        return None
    missing = dataclasses.MISSING
    attributes = tuple(
        Attribute(
            field.name,
            field.name if field.init else None,
            Factory(field.default_factory)
            if field.default_factory is not missing
            else REQUIRED
            if field.default is missing
            else field.default,
            bool(field.kw_only),
            field.compare,
        )
        for field in dataclasses.fields(cls)
    )
    constructor = getattr_static(cls, "__init__")
    plain = (
        _is_made_by_init(cls)
        and not hasattr(cls, "__post_init__")
        and isinstance(constructor, FunctionType)
        and constructor.__code__.co_filename == "<string>"  # as dataclasses make it
    )
    parameters: Any = getattr_static(cls, "__dataclass_params__")
    declared = "__dataclass_params__" in vars(cls)
    fault = _fault("use @dataclass(frozen=True)", declared=declared, frozen=parameters.frozen)
    return RecordClass(cls, attributes, parameters.frozen, plain, fault)


def _is_made_by_init(cls: type) -> bool:
    return type(cls) in (type, ABCMeta) and getattr_static(cls, "__new__") is _OBJECT_NEW


def _of_named_tuple(cls: type) -> RecordClass | None:
    names = getattr(cls, "_fields", None)
    if not issubclass(cls, tuple) or not isinstance(names, tuple):
        return None
    defaults: Mapping[str, object] = getattr(cls, "_field_defaults", {})
    attributes = tuple(Attribute(name, name, defaults.get(name, REQUIRED)) for name in names)
    declared = "_fields" in vars(cls)
    fault = _fault("derive it from NamedTuple itself", declared=declared, frozen=True)
    return RecordClass(cls, attributes, frozen=True, plain=declared, fault=fault)


def _of_pydantic(cls: type) -> RecordClass | None:
    fields: Mapping[str, Any] | None = vars(cls).get("__pydantic_fields__")
    settings: Mapping[str, Any] = getattr(cls, "model_config", {})
    if fields is None or dataclasses.is_dataclass(cls):
        return None
    by_name = settings.get("populate_by_name") or settings.get("validate_by_name")
    attributes = []
    for name, field in fields.items():
        alias = None if by_name else field.validation_alias or field.alias
        default = REQUIRED if field.is_required() else field.default
        if field.default_factory is not None:
            default = Factory(field.default_factory)
        attributes.append(Attribute(name, alias if isinstance(alias, str) else name, default, True))
    frozen, private = bool(settings.get("frozen")), list(getattr(cls, "__private_attributes__", ()))
    fault = _fault("use model_config = ConfigDict(frozen=True)", declared=True, frozen=frozen)
    if private:
        fault = f"has the private attribute {private[0]}, which columns do not have; make it a field"
    elif settings.get("extra") == "allow":
        fault = "keeps fields that it does not declare; use extra='ignore' or extra='forbid'"
    return RecordClass(cls, tuple(attributes), frozen, _validates_nothing(cls, fields, settings), fault)


def _validates_nothing(cls: type, fields: Mapping[str, Any], settings: Mapping[str, object]) -> bool:
    """Returns whether a model stores values of the types of its fields as they are."""
    decorators = getattr(cls, "__pydantic_decorators__", None)
    return (
        not any(getattr(decorators, name, True) for name in _VALIDATORS)
        and not any(field.metadata for field in fields.values())
        and not getattr(cls, "__pydantic_custom_init__", True)
        and not getattr(cls, "__pydantic_post_init__", None)
        and getattr_static(cls, "__new__") is _OBJECT_NEW
        and set(settings) <= {"frozen", "title"}
    )


def _of_msgspec(cls: type) -> RecordClass | None:
    settings: Any = getattr(cls, "__struct_config__", None)
    if type(settings).__name__ != "StructConfig":  # the metaclass has a descriptor
        return None
    parameters = signature(cls).parameters
    names: tuple[str, ...] = getattr(cls, "__struct_fields__", ())
    defaults: tuple[Any, ...] = getattr(cls, "__struct_defaults__", ())
    given = dict(zip(reversed(names), map(_default_of_struct, reversed(defaults)), strict=False))
    attributes = tuple(
        Attribute(name, name, given.get(name, REQUIRED), parameters[name].kind is Parameter.KEYWORD_ONLY)
        for name in names
    )
    plain = not hasattr(cls, "__post_init__") and getattr_static(cls, "__init__") is _OBJECT_INIT
    fault = _fault("derive it from msgspec.Struct with frozen=True", declared=True, frozen=settings.frozen)
    return RecordClass(cls, attributes, bool(settings.frozen), plain, fault)


def _default_of_struct(default: Any) -> object:  # noqa: ANN401  # a class that need not be installed
    match type(default).__name__:
        case "NoDefaultType":
            return REQUIRED
        case "Factory":
            return Factory(default.factory)
        case _:
            return default


_OBJECT_NEW: Final = getattr_static(object, "__new__")
_OBJECT_INIT: Final = getattr_static(object, "__init__")
_VALIDATORS: Final = ("field_validators", "model_validators", "validators", "root_validators")

_KINDS: Final[tuple[Callable[[type], RecordClass | None], ...]] = (
    _of_attrs,
    _of_dataclass,
    _of_named_tuple,
    _of_pydantic,
    _of_msgspec,
)
