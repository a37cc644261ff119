"""What decorators say of classes of values: their tags in sums, how the state keeps their objects, and earlier names.

A tag shows, in JSON and in columns, that a value of a sum is of a class.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError, require_text

A = TypeVar("A")
B = TypeVar("B")


@frozen
class Tag:
    """What shows that a JSON object is a value of a class: a field, and its text."""

    name: str
    field: str = "$type"


def tag_of_class(cls: type) -> Tag:
    """Returns the tag of a class: that of ``tagged``, or its name in the field ``$type``."""
    tag: object = vars(cls).get(_TAG_ATTRIBUTE)
    return tag if isinstance(tag, Tag) else Tag(cls.__name__)


def tagged(name: str, *, field: str = "$type") -> Callable[[type[A]], type[A]]:
    """Decorates a record class with its tag in sums: in JSON, its objects have ``name`` in ``field``.

    The name is also that of the column of its values. Without a tag, it is the name of the class. Raises
    ``ArgumentError`` for a name that is not a letter followed by letters, digits, ``_``, ``-`` and ``.``, and for a
    field that is not text.

    Example:

    >>> @tagged("count", field="kind")
    ... @frozen
    ... class Counted:
    ...     query: str
    >>> print(Source("events", one_of(Score, Counted), event_time=lambda event: noon(0)).shape)
    Score | Counted
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.-]*", name, re.ASCII):
        raise ArgumentError("tagged.name", name, "a letter followed by letters, digits, _, - and .")
    require_text("tagged.field", field)

    return _setting("tagged", _TAG_ATTRIBUTE, Tag(name, field))


_TAG_ATTRIBUTE: Final = "__flowalg_tag__"


def _setting(decorator: str, attribute: str, value: object) -> Callable[[type[A]], type[A]]:
    """Returns a decorator that sets an attribute of a class; its errors have the name ``decorator``."""

    def decorate(cls: type[A]) -> type[A]:
        if not isinstance(cls, type):
            raise ArgumentError(f"the argument of @{decorator}(...)", cls, "a class")
        setattr(cls, attribute, value)
        return cls

    return decorate


@frozen
class StoredAs:
    """How the state keeps objects of a class: as the data that ``encode`` returns, of which ``decode`` makes them."""

    encode: Callable[[Any], object]
    decode: Callable[[Any], object]


def stored(encode: Callable[[A], B], decode: Callable[[B], A]) -> Callable[[type[A]], type[A]]:
    """Decorates a class whose objects are kept in state, in an accumulator or a computation, but are not data.

    Data are numbers, texts, bytes, times, tuples, lists, sets, dicts, enums, and records of them. ``encode`` returns
    data for an object, and ``decode`` an equal object for them; a checkpoint has the data. Raises ``ArgumentError``
    unless both are functions.

    Example:

    >>> @stored(lambda sketch: sketch.registers, lambda registers: Sketch(registers))
    ... class Sketch:
    ...     def __init__(self, registers: tuple[int, ...]) -> None:
    ...         self.registers = registers
    """
    for name, f in (("encode", encode), ("decode", decode)):
        if not callable(f):
            raise ArgumentError(f"stored.{name}", f, "a function")

    return _setting("stored", _CODEC_ATTRIBUTE, StoredAs(encode, decode))


def codec_of_class(cls: type) -> StoredAs | None:
    """Returns how the state keeps objects of a class; ``None`` if it is not decorated, whatever its bases are."""
    codec: object = vars(cls).get(_CODEC_ATTRIBUTE)
    return codec if isinstance(codec, StoredAs) else None


_CODEC_ATTRIBUTE: Final = "__flowalg_stored__"


def class_named(name: str) -> type | None:
    """Returns the class that has, or had, a name such as ``shop.models:Order`` in a module that is imported.

    ``None`` if there is none. An earlier name is that of ``RenamedFrom``.
    """
    module, _, path = name.partition(":")
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if found is not None and hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else _EARLIER.get(name)


def name_class(name: str, cls: type) -> None:
    """Gives a class an earlier name."""
    _EARLIER[name] = cls


_EARLIER: Final[dict[str, type]] = {}
"""Classes by their earlier names."""
