"""Loads the attribute of a module that an argument names, such as ``examples.flights:hourly``."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from flowalg import PCollection, Timeline
from flowalg.data.errors import FlowalgError
from flowalg.errors import ArgumentError

_MODULE: Final = "a module and an attribute of it, such as examples.flights:hourly"


class BrokenModuleError(FlowalgError, ImportError):
    """The code of a module raised when it was imported or called; the message says what and where."""


class NotFoundError(FlowalgError, LookupError):
    """A module cannot be imported or does not have an attribute; the message lists the pipelines that it has."""


def is_qualified_name(text: str) -> bool:
    """Returns whether a text has the form ``module:attribute``."""
    module, colon, attribute = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))


def load_value(text: str, argument: str) -> object:
    """Returns the attribute of a module, which may be in the working directory.

    Raises ``ArgumentError`` for a text of another form, ``NotFoundError`` if the module or attribute is missing, and
    ``BrokenModuleError`` if the module cannot be imported.
    """
    if not is_qualified_name(text):
        raise ArgumentError(argument, text, _MODULE)
    module_name, _, path = text.partition(":")
    with _working_directory_first(), _naming_errors(f"{argument} {text}", f"import {module_name}"):
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
                raise NotFoundError(f"{argument} {text}: {module_name} has no {name}{_list_pipelines(value)}")
            value = getattr(value, name)
    return value


def load_pipeline(text: str) -> PCollection[object]:
    """Returns the pipeline with this name."""
    value = load_value(text, "PIPELINE")
    if not isinstance(value, PCollection):
        raise ArgumentError(f"PIPELINE {text}", value, "a PCollection")
    return value


def load_timelines(text: str) -> Timeline[object] | Mapping[object, object]:
    """Returns the timeline with this name, or a timeline for each source; a function without arguments is called."""
    value = load_value(text, "TIMELINE")
    module, _, name = text.partition(":")
    if callable(value) and not isinstance(value, Timeline):
        with _naming_errors(f"TIMELINE {text}", f"import {module}; {module}.{name}()"):
            value = value()
    if not isinstance(value, Timeline | Mapping):
        raise ArgumentError(
            f"TIMELINE {text}",
            value,
            "a Timeline, a mapping from sources to timelines, or a function that returns either",
        )
    return value


def _list_pipelines(module: object) -> str:
    names: Mapping[str, object] = getattr(module, "__dict__", {})
    pipelines = [name for name, value in names.items() if isinstance(value, PCollection)]
    return f"; its pipelines are {', '.join(sorted(pipelines))}" if pipelines else ""


@contextmanager
def _naming_errors(argument: str, code: str) -> Iterator[None]:
    """Raises ``BrokenModuleError`` with the place instead of what ``code`` raises; a script exits, too."""
    try:
        yield
    except NotFoundError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).is_relative_to(Path.cwd())]
        place = f", at {own[-1].filename}:{own[-1].lineno}" if own else ""
        raise BrokenModuleError(
            f"{argument}: {code} raised {type(error).__name__}: {error}{place}; python -c '{code}' shows the traceback"
        ) from error


@contextmanager
def _working_directory_first() -> Iterator[None]:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)
