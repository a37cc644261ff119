"""Tags: what shows, in JSON and in columns, that a value of a sum is of a class."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from attrs import frozen

from flowalg.data.errors import ArgumentError, require_text

A = TypeVar("A")


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

    def decorate(cls: type[A]) -> type[A]:
        if not isinstance(cls, type):
            raise ArgumentError("the argument of @tagged(...)", cls, "a class")
        setattr(cls, _TAG_ATTRIBUTE, Tag(name, field))
        return cls

    return decorate


_TAG_ATTRIBUTE: Final = "__flowalg_tag__"
