"""The classes of the algebra by their short names, found in its modules: a new one needs no entry anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final

import attrs
from returns.result import Failure, Result, Success

from flowalg.pipeline.source import Source
from flowalg.serialization.names import name_of, named

# What is derived from functions is computed again, and the forms of documents are no values of the algebra.
_APART: Final = (
    "flowalg.analysis",
    "flowalg.lifting",
    "flowalg.notebook",
    "flowalg.pipeline.co_group",
    "flowalg.pipeline.graph",
    "flowalg.serialization",
)


@cache
def algebra() -> Mapping[str, type]:
    """Every frozen attrs class and enum of the algebra, by its name.

    Two classes of one name have no short name: they go by module and name, as a user's classes do.
    """
    found = tuple(dict.fromkeys(_classes()))
    times = Counter(one.__name__ for one in found)
    return MappingProxyType({one.__name__: one for one in found if times[one.__name__] == 1})


def _classes() -> Iterator[type]:
    package = importlib.import_module("flowalg")
    for one in pkgutil.walk_packages(package.__path__, "flowalg."):
        if one.name.startswith(_APART):
            continue
        module = importlib.import_module(one.name)
        for value in vars(module).values():
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            if not value.__name__.startswith("_") and (is_frozen(value) or issubclass(value, Enum | Source)):
                yield value


def is_frozen(cls: type) -> bool:
    """Whether a class is a frozen attrs class: equal by its fields, which never change."""
    return "__attrs_attrs__" in vars(cls) and attrs.inspect(cls).is_frozen


def tag_of(cls: type) -> Result[str, str]:
    """What a class is called in documents: its short name, or ``module:Name``; or why it has no name."""
    return Success(cls.__name__) if algebra().get(cls.__name__) is cls else name_of(cls)


def tagged(tag: str) -> Result[type, str]:
    """The class of a tag, or the reason why there is none."""
    if ":" not in tag:
        known = algebra().get(tag)
        return Failure(f"{tag!r} is no class of the algebra") if known is None else Success(known)
    return named(tag).bind(lambda one: _a_class(tag, one))


def _a_class(tag: str, found: object) -> Result[type, str]:
    if isinstance(found, type) and (is_frozen(found) or issubclass(found, Enum)):
        return Success(found)
    return Failure(f"{tag!r} is no frozen attrs class and no enum")


__all__ = ["algebra", "is_frozen", "tag_of", "tagged"]
