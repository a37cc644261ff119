"""Interpreters that are installed: entry points of the group ``flowalg.interpreters``, of any distribution.

An engine of one's own is found like those of flowalg, once its distribution declares in ``pyproject.toml``::

    [project.entry-points."flowalg.interpreters"]
    mine = "my_engine:MyInterpreter"

The object of an entry point is called without arguments and returns an ``Interpreter``.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Final

from flowalg.analysis.capabilities import Capabilities
from flowalg.data.errors import ArgumentError, FlowalgError, MissingExtraError, describe_raised
from flowalg.interpreters.interpreter import Interpreter

GROUP: Final = "flowalg.interpreters"
"""The group of the entry points of interpreters."""


def interpreter_names() -> tuple[str, ...]:
    """Returns the names of all installed interpreters, sorted."""
    return tuple(sorted(_installed()))


def load_interpreter(name: str, *, argument: str = "interpreter") -> Interpreter:
    """Returns an installed interpreter by its name, such as ``local`` or one of another distribution.

    Spark's use the active session, or start a local one that the caller stops. Raises ``ArgumentError`` for a name that
    is not installed, that raises, or that does not give an interpreter, and ``MissingExtraError`` if its modules are
    not installed.
    """
    entry_point = _installed().get(name) if isinstance(name, str) else None
    if entry_point is None:
        valid = f"the name of an installed interpreter: one of {', '.join(interpreter_names())}"
        raise ArgumentError(argument, name, valid)
    try:
        interpreter = entry_point.load()()
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            f"the interpreter {name} needs {missing.name}, which is not installed"
        ) from missing
    except FlowalgError:
        raise
    except Exception as error:
        valid = "an entry point whose module can be imported, and that can be called"
        raise ArgumentError(
            f"the interpreter {name}", entry_point.value, valid, why=describe_raised(error)
        ) from error
    if not isinstance(getattr(interpreter, "capabilities", None), Capabilities):
        valid = "an entry point that returns an Interpreter, with capabilities, when it is called"
        raise ArgumentError(f"the interpreter {name}, {entry_point.value}", interpreter, valid)
    checked: Interpreter = interpreter
    return checked


def _installed() -> dict[str, EntryPoint]:
    return {entry_point.name: entry_point for entry_point in entry_points(group=GROUP)}
