"""The exceptions of flowalg. A message names the argument, the expected type, and the value with its type."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import PurePath
from types import FunctionType
from typing import Final, TypeVar

_LONGEST_REPR: Final = 200
_LONGEST_TEXT: Final = 10_000
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NOT_IN_PATHS: Final = re.compile("[\0\ud800-\udfff]")
"""A path has no U+0000, and is text: engines do not read files whose names are not UTF-8."""
_URL: Final = re.compile(r"(:/+)(\S*)")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


class Hidden:
    """Stands for a value that a message must not show, since it may contain a password; it has the type only."""

    def __init__(self, value: object) -> None:
        self.type = type(value).__name__


def hidden(value: object) -> object:
    """Returns a value as messages may show it: a number or a class as it is, and of anything else the type."""
    return value if value is None or isinstance(value, int | float | type) else Hidden(value)


def without_passwords(text: str) -> str:
    """Returns a text with ``***`` in place of each user and password in a URL, such as ``postgresql://***@host``."""
    return _URL.sub(_without_user, text)


def _without_user(url: re.Match[str]) -> str:
    user, at, host = url[2].rpartition("@")
    return f"{url[1]}***@{host}" if at and ":" in user else url[0]


def format_value(value: object) -> str:
    """Formats a value and its type for one line of a message: ``3 (int)``, or ``the class Score``."""
    if isinstance(value, Hidden):
        return f"a value of type {value.type}, which may contain a password and is not shown"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, FunctionType):
        return describe_function(value)
    if is_frame(value):
        return f"a {type(value).__name__} of {type(value).__module__.partition('.')[0]}"
    try:
        text = repr(value)
    except Exception as error:
        text = f"a value whose repr raises {type(error).__name__}"
    text = without_passwords(text[: 10 * _LONGEST_REPR])
    if len(text) > _LONGEST_REPR:
        text = f"{text[: _LONGEST_REPR - 1]}…"
    return f"{text} ({type(value).__name__})"


def is_frame(value: object) -> bool:
    """Returns whether a value is a table or a column of any library that shares it by Arrow."""
    return hasattr(type(value), "__arrow_c_stream__")


def describe_raised(error: BaseException) -> str:
    """Returns the class and the text of an error that a user function raised; a text that is very long is cut."""
    try:
        text = str(error)
    except Exception as failure:
        text = f"an error whose text raises {type(failure).__name__}"
    if len(text) > _LONGEST_TEXT:
        text = f"{text[: _LONGEST_TEXT - 1]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def describe_function(f: Callable[..., object]) -> str:
    """Returns the name of a function with its file and line, for messages.

    For a callable of this library that wraps a user function (attribute ``wrapped``), describes the user function, and
    for ``functools.partial`` the function that it calls.
    """
    f = getattr(f, "wrapped", f)
    f = f.func if isinstance(f, partial) else f
    code = getattr(f, "__code__", None)
    name = getattr(f, "__qualname__", None) or repr(f)
    if code is None:
        module = getattr(f, "__module__", "?")
        return name if name.startswith(f"{module}.") else f"{module}.{name}"
    return f"{name.rpartition('.')[2]} at {_short(code.co_filename)}:{code.co_firstlineno}"


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # the directory has been removed, under a process that still runs in it
        return os.sep


_START: Final = _working_directory()
"""The working directory when the library was imported: descriptions do not change with a later directory."""


@lru_cache(maxsize=256)
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
    """An interpreter cannot run this pipeline. The message names each unsupported part with its remedy, one a line.

    ``parts`` are the errors of these parts, in the order of the pipeline.
    """

    _parts: tuple[UnsupportedError, ...] = ()

    @classmethod
    def of(cls, first: UnsupportedError, *others: UnsupportedError) -> UnsupportedError:
        """Returns the error of all parts of some errors, each once; of one part it is the error of that part."""
        found = tuple({str(part): part for error in (first, *others) for part in error.parts}.values())
        if len(found) == 1:
            return found[0]
        lines = "".join(f"\n  {number}. {part}" for number, part in enumerate(found, start=1))
        whole = cls(f"{len(found)} parts of the pipeline are unsupported:{lines}")
        whole._parts = found
        return whole

    @property
    def parts(self) -> tuple[UnsupportedError, ...]:
        """The errors of the unsupported parts: of one part, the error itself."""
        return self._parts or (self,)


class CheckpointError(FlowalgError, RuntimeError):
    """A query cannot continue from its checkpoint: it is damaged, or was written by an incompatible query or version.

    The message says what was found, what is expected, and how to continue.
    """


class NotWritableError(FlowalgError, TypeError):
    """A value cannot be serialized, such as an opaque function. The message names its path and a remedy."""


class DocumentError(FlowalgError, ValueError):
    """A JSON document is not a valid pipeline. The message names the path in the document."""


def path_text(argument: str, path: object) -> str:
    """Returns a path or a URL as a str; raises ``ArgumentError`` unless it is a str, or a ``PathLike`` of one.

    One that begins with ``~``, which only a shell expands, would be that of a file or folder with this name.
    """
    text = path.__fspath__() if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text.strip() or _NOT_IN_PATHS.search(text):
        value = path if isinstance(path, str | os.PathLike) else hidden(path)
        raise ArgumentError(argument, value, "a path, such as 'folder' or Path('folder')")
    if text.startswith("~"):
        raise ArgumentError(
            argument, path, "a path that begins with no ~, such as Path('~/folder').expanduser()"
        )
    return text


def is_url(path: str) -> bool:
    """Returns whether a path has a scheme, such as ``s3://bucket/folder``, or ``s3:/bucket/folder`` as ``Path`` writes
    it.
    """
    return _SCHEME.match(path) is not None


def local_path(argument: str, path: object) -> str:
    """Returns a path of this machine as a str; raises ``ArgumentError`` for anything else, a URL too."""
    text = path_text(argument, path)
    if is_url(text):
        raise ArgumentError(argument, Hidden(text), "a path of this machine, and no URL")
    return text


def local_folder(argument: str, path: object) -> str:
    """Returns the path of a folder, which need not exist; raises ``ArgumentError`` for anything else, a file too."""
    text = local_path(argument, path)
    whole = PurePath(text)
    file = next(
        (part for part in (whole, *whole.parents) if os.path.exists(part) and not os.path.isdir(part)), None
    )
    if file is not None:
        raise ArgumentError(argument, path, "the path of a folder", why=f"{file} is a file")
    return text


def require_text(argument: str, value: object) -> None:
    """Raises ``ArgumentError`` unless a value is text that UTF-8 can encode."""
    if not isinstance(value, str):
        raise ArgumentError(argument, value, "a str")
    if not value.isascii() and _SURROGATE.search(value):
        raise ArgumentError(argument, value, "text without lone surrogates, which UTF-8 cannot encode")


def require_name(argument: str, value: object, valid: str = "a non-empty str") -> str:
    """Returns a name, text that is not empty; raises ``ArgumentError`` for another value."""
    if not isinstance(value, str) or not value:
        raise ArgumentError(argument, value, valid)
    require_text(argument, value)
    return value


def require_flag(argument: str, value: object) -> None:
    """Raises ``ArgumentError`` unless a value is a bool."""
    if not isinstance(value, bool):
        raise ArgumentError(argument, value, "a bool")


def require_count(argument: str, value: object, valid: str = "an int of 1 or more") -> None:
    """Raises ``ArgumentError`` unless a value is an int of 1 or more, and not a bool."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(argument, value, valid)


@contextmanager
def errors_of(label: str) -> Iterator[None]:
    """Prefixes the errors of elements, numbers and user-defined functions with the label of the step that raised."""
    try:
        yield
    except FlowalgError as error:
        if label in str(error):
            raise
        raise renamed(error, f"{label}: {error}") from error.__cause__
