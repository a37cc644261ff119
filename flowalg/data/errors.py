"""The exceptions of flowalg. A message names the argument, the expected type, and the value with its type."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Final, TypeVar

_LONGEST_REPR: Final = 200
_LONGEST_TEXT: Final = 10_000


class Hidden:
    """Stands for a value that a message must not show, since it may contain a password; it has the type only."""

    def __init__(self, value: object) -> None:
        self.type = type(value).__name__


def hidden(value: object) -> object:
    """Returns a value as messages may show it: a number or a class as it is, and of anything else the type."""
    return value if value is None or isinstance(value, int | float | type) else Hidden(value)


def format_value(value: object) -> str:
    """Formats a value and its type for one line of a message: ``3 (int)``, or ``the class Score``."""
    if isinstance(value, Hidden):
        return f"a value of type {value.type}, which may contain a password and is not shown"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, FunctionType):
        return describe_function(value)
    try:
        text = repr(value)
    except Exception as error:
        text = f"a value whose repr raises {type(error).__name__}"
    if len(text) > _LONGEST_REPR:
        text = f"{text[: _LONGEST_REPR - 1]}…"
    return f"{text} ({type(value).__name__})"


def describe_raised(error: BaseException) -> str:
    """Returns the class and the text of an error that a user function raised; a text that is very long is cut."""
    try:
        text = str(error)
    except Exception as failure:
        text = f"an error whose text raises {type(failure).__name__}"
    if len(text) > _LONGEST_TEXT:
        text = f"{text[: _LONGEST_TEXT - 1]}…"
    return f"{type(error).__name__}: {text}"


def describe_function(f: Callable[..., object]) -> str:
    """Returns the name of a function with its file and line, for messages.

    For a callable of this library that wraps a user function (attribute ``wrapped``), describes the user function.
    """
    f = getattr(f, "wrapped", f)
    code = getattr(f, "__code__", None)
    name = getattr(f, "__qualname__", None) or repr(f)
    if code is None:
        return f"{getattr(f, '__module__', '?')}.{name}"
    return f"{name.rpartition('.')[2]} at {_short(code.co_filename)}:{code.co_firstlineno}"


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # the directory has been removed, under a process that still runs in it
        return os.sep


_START: Final = _working_directory()
"""The working directory when the library was imported: descriptions do not change with a later directory."""


def _short(filename: str) -> str:
    relative = os.path.relpath(filename, _START) if os.path.isabs(filename) else filename
    return filename if relative.startswith("..") else relative


class FlowalgError(Exception):
    """The base class of every error that flowalg raises deliberately. All of them can be pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return with_message, (type(self), str(self)), self.__dict__


E = TypeVar("E", bound=BaseException)


def with_message(kind: type[E], message: str) -> E:
    """Returns an error of a class with a message, without its constructor: what is known of an error as text."""
    error = kind.__new__(kind)
    BaseException.__init__(error, message)
    return error


def renamed(error: FlowalgError, message: str) -> FlowalgError:
    """Returns an error of the class of another, with what that has and another message."""
    named = with_message(type(error), message)
    vars(named).update(vars(error))
    return named


class ArgumentError(FlowalgError, ValueError):
    """An argument of a constructor or function is invalid."""

    def __init__(self, argument: str, value: object, valid: str, *, why: str | None = None) -> None:
        reason = f": {why}" if why else ""
        super().__init__(f"{argument} must be {valid}; got {format_value(value)}{reason}")
        self.argument = argument


class KeyedCollectionError(FlowalgError, TypeError):
    """A keyed transform was applied to a collection whose elements are not ``KV`` pairs."""


class RecordTypeError(FlowalgError, TypeError):
    """A type cannot be an element type. The message names the class, the field and the supported types."""


class SchemaMismatchError(FlowalgError, TypeError):
    """The schema of the data does not match the record class of its source. The message lists every difference."""


class ValueRangeError(FlowalgError, ArithmeticError):
    """A number exceeds the range of its type, such as 64-bit integers or ``Decimal`` digits."""


class ElementError(FlowalgError, ValueError):
    """An element does not conform to its declared type, such as ``None`` in a field that is not optional."""


class UserFunctionError(FlowalgError, RuntimeError):
    """A user function raised. The message names the transform, the function with its file and line, and the element."""


class UnboundSourceError(FlowalgError, KeyError):
    """A run has no data for a source of the pipeline, or has data for a source that the pipeline lacks."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingExtraError(FlowalgError, ImportError):
    """A required package is not installed. The message has the command that installs it.

    The command needs no package index for flowalg itself: pip adds the extra to the flowalg that is installed, also
    from a checkout.
    """


class UnsupportedError(FlowalgError, NotImplementedError):
    """An interpreter cannot run this pipeline. The message names the unsupported part and an interpreter that can."""


class CheckpointError(FlowalgError, RuntimeError):
    """A query cannot continue from its checkpoint: it is damaged, or was written by an incompatible query or version.

    The message says what was found, what is expected, and how to continue.
    """


class NotWritableError(FlowalgError, TypeError):
    """A value cannot be serialized, such as an opaque function. The message names its path and a remedy."""


class DocumentError(FlowalgError, ValueError):
    """A JSON document is not a valid pipeline. The message names the path in the document."""


def path_text(argument: str, path: object) -> str:
    """Returns a path as a str; raises ``ArgumentError`` unless it is a str, or a ``PathLike`` of one."""
    text = path.__fspath__() if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text:
        raise ArgumentError(argument, path, "a path, such as 'folder' or Path('folder')")
    return text


def require_flag(argument: str, value: object) -> None:
    """Raises ``ArgumentError`` unless a value is a bool."""
    if not isinstance(value, bool):
        raise ArgumentError(argument, value, "a bool")


@contextmanager
def errors_of(label: str) -> Iterator[None]:
    """Prefixes the errors of elements, numbers and user-defined functions with the label of the step that raised."""
    try:
        yield
    except FlowalgError as error:
        if label in str(error):
            raise
        raise renamed(error, f"{label}: {error}") from error.__cause__
