"""A registry of the classes of the algebra by their short names, collected from its modules."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final

from returns.result import Failure, Result, Success

from flowalg.data.record_classes import record_class
from flowalg.pipeline.source import Source
from flowalg.serialization.names import import_object, name_of

# Modules without values of documents: derived analyses, presentation, serialization itself, and operations, which build
# nodes of the same names.
_EXCLUDED: Final = (
    "flowalg.analysis",
    "flowalg.computations.calls",
    "flowalg.computations.transition",
    "flowalg.lifting",
    "flowalg.notebook",
    "flowalg.pipeline.admission",
    "flowalg.pipeline.co_group",
    "flowalg.pipeline.graph",
    "flowalg.plan",
    "flowalg.serialization",
    "flowalg.transforms",
)


@cache
def algebra() -> Mapping[str, type]:
    """Returns all record classes and enums of the algebra by name.

    Classes that share a name have no short name: they are written as ``module:name``, like user-defined classes.
    """
    classes = tuple(dict.fromkeys(_classes()))
    counts = Counter(cls.__name__ for cls in classes)
    return MappingProxyType({cls.__name__: cls for cls in classes if counts[cls.__name__] == 1})


def _classes() -> Iterator[type]:
    package = importlib.import_module("flowalg")
    for info in pkgutil.walk_packages(package.__path__, "flowalg."):
        if info.name.startswith(_EXCLUDED):
            continue
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            if not value.__name__.startswith("_") and (is_frozen(value) or issubclass(value, Enum | Source)):
                yield value


def is_frozen(cls: type) -> bool:
    """Returns whether a class is a record class, but not a named tuple."""
    record = record_class(cls)
    return record is not None and record.fault is None and not is_named_tuple(cls)


def is_named_tuple(cls: type) -> bool:
    """Returns whether a class is a named tuple, such as that of a transform's outputs."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def tag_of(cls: type) -> Result[str, str]:
    """Returns the name of a class in documents, its short name or ``module:Name``; or why it has none."""
    return Success(cls.__name__) if algebra().get(cls.__name__) is cls else name_of(cls)


def class_of_tag(tag: str) -> Result[type, str]:
    """Returns the class of a tag, or the reason why there is none."""
    if ":" not in tag:
        cls = algebra().get(tag)
        return Failure(f"{tag!r} is not a class of the algebra") if cls is None else Success(cls)
    return import_object(tag).bind(lambda imported: _require_class(tag, imported))


def _require_class(tag: str, imported: object) -> Result[type, str]:
    if isinstance(imported, type) and (
        is_frozen(imported) or issubclass(imported, Enum) or is_named_tuple(imported)
    ):
        return Success(imported)
    return Failure(f"{tag!r} is not a record class, an enum or a named tuple")
