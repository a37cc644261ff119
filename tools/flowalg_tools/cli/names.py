"""What an argument of the command line names: ``examples.flights:hourly``, an attribute of a module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from flowalg import ArgumentError, PCollection, Timeline
from flowalg.data.errors import FlowalgError

_MODULE: Final = "a module and an attribute of it, such as examples.flights:hourly"


class NotFoundError(FlowalgError, LookupError):
    """A module cannot be imported, or lacks an attribute; the message says what it has."""


def is_name(text: str) -> bool:
    """Whether a text has the form of a name: a module, a colon, an attribute."""
    module, colon, attribute = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))


def value_named(text: str, argument: str) -> object:
    """The attribute of a module, which may lie in the working directory.

    Raises ``ArgumentError`` for a text that is no name, and ``NotFoundError`` when there is no such thing.
    """
    if not is_name(text):
        raise ArgumentError(argument, text, _MODULE)
    module_name, _, path = text.partition(":")
    with _working_directory_first():
        try:
            value: object = importlib.import_module(module_name)
        except ModuleNotFoundError as missing:
            if missing.name is None or not f"{module_name}.".startswith(f"{missing.name}."):
                raise
            raise NotFoundError(
                f"{argument} {text}: there is no module {missing.name} in the working directory or installed"
            ) from missing
    for name in path.split("."):
        if not hasattr(value, name):
            raise NotFoundError(f"{argument} {text}: {module_name} has no {name}{_instead(value)}")
        value = getattr(value, name)
    return value


def pipeline_named(text: str) -> PCollection[object]:
    """The pipeline that a text names."""
    found = value_named(text, "PIPELINE")
    if not isinstance(found, PCollection):
        raise ArgumentError(f"PIPELINE {text}", found, "a PCollection")
    return found


def timelines_named(text: str) -> Timeline[object] | Mapping[object, object]:
    """The timeline that a text names, or a timeline for each source; or what a function without arguments gives."""
    found = value_named(text, "TIMELINE")
    if callable(found) and not isinstance(found, Timeline):
        found = found()
    if not isinstance(found, Timeline | Mapping):
        raise ArgumentError(
            f"TIMELINE {text}", found, "a Timeline, a mapping from sources to timelines, or a function to one"
        )
    return found


def _instead(module: object) -> str:
    pipelines = [name for name, one in vars(module).items() if isinstance(one, PCollection)]
    return f"; its pipelines are {', '.join(sorted(pipelines))}" if pipelines else ""


@contextmanager
def _working_directory_first() -> Iterator[None]:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)


__all__ = ["NotFoundError", "is_name", "pipeline_named", "timelines_named", "value_named"]
