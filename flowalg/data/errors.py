"""What can go wrong, each as a type whose message names the argument, the value, its type and what is valid."""

from __future__ import annotations

from typing import Final

_LONGEST_REPR: Final = 200


def format_value(value: object) -> str:
    """Formats a value and its type for one line of a message: ``3 (int)``, or ``the class Score``."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    if len(text) > _LONGEST_REPR:
        text = f"{text[: _LONGEST_REPR - 1]}…"
    return f"{text} ({type(value).__name__})"


class FlowalgError(Exception):
    """Every error that flowalg raises on purpose."""


class ArgumentError(FlowalgError, ValueError):
    """A constructor or method was given a value that it cannot take."""

    def __init__(self, argument: str, value: object, valid: str, *, why: str | None = None) -> None:
        reason = f": {why}" if why else ""
        super().__init__(f"{argument} must be {valid}; got {format_value(value)}{reason}")
        self.argument = argument


class KeyedCollectionError(FlowalgError, TypeError):
    """A key-wise method was called on a collection whose elements are not ``KV`` pairs."""


class RecordTypeError(FlowalgError, TypeError):
    """A type cannot be an element type; the message names the class, the field and what is possible."""


class SchemaMismatchError(FlowalgError, TypeError):
    """A source was bound to data whose schema does not fit its record class; lists every difference."""


class ValueRangeError(FlowalgError, ArithmeticError):
    """A number does not fit the 64-bit integers that element values are made of."""


class ElementError(FlowalgError, ValueError):
    """An element value is not one that its declared type allows (a null in a plain field, say)."""


class UserFunctionError(FlowalgError, RuntimeError):
    """A function of the user's raised; the message names the transform, the function's place and the record."""


class UnboundSourceError(FlowalgError, KeyError):
    """A pipeline was run without data for one of its sources, or with data for a source it does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingExtraError(FlowalgError, ImportError):
    """Something needs a package that is not installed; the message says which extra of flowalg brings it."""


class UnsupportedError(FlowalgError, NotImplementedError):
    """An interpreter cannot run this pipeline; the message says which part, and which interpreter can."""


class NotWritableError(FlowalgError, TypeError):
    """A value has no JSON form: an opaque function, say; the message names the place and what to do."""


class DocumentError(FlowalgError, ValueError):
    """A JSON document is none that flowalg can read; the message names the place in the document."""


__all__ = [
    "ArgumentError",
    "DocumentError",
    "ElementError",
    "FlowalgError",
    "KeyedCollectionError",
    "MissingExtraError",
    "NotWritableError",
    "RecordTypeError",
    "SchemaMismatchError",
    "UnboundSourceError",
    "UnsupportedError",
    "UserFunctionError",
    "ValueRangeError",
    "format_value",
]
