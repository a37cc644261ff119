"""Codecs write values as JSON and read them again; here are the codecs of scalars and collections."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from typing import Final

from attrs import frozen

from flowalg.data.errors import format_value
from flowalg.serialization.notations import DURATION, NOTATIONS, Notation
from flowalg.serialization.paths import DocumentPath
from flowalg.windows.strategy import FOREVER


@frozen
class Codec:
    """Writes the values of a type as JSON, and reads them; both take a path in the document, for messages.

    ``write`` raises ``NotWritableError`` for a value of another type or without a JSON form; ``read`` raises
    ``DocumentError`` for any other JSON. Law: ``read(write(v, at), at)`` equals ``v``.
    """

    write: Callable[[object, DocumentPath], object]
    read: Callable[[object, DocumentPath], object]


def restricted(codec: Codec, fits: Callable[[object], bool], valid: str) -> Codec:
    """Returns the codec of the values that fit; ``valid`` describes them."""

    def write(value: object, at: DocumentPath) -> object:
        if not fits(value):
            raise at.mistyped(value)
        return codec.write(value, at)

    def read(json: object, at: DocumentPath) -> object:
        value = codec.read(json, at)
        if not fits(value):
            raise at.invalid(json, valid)
        return value

    return Codec(write, read)


AS_IS: Final = Codec(lambda value, at: value, lambda json, at: json)
"""Values that are JSON."""


def _text(notation: Notation) -> Codec:
    """Returns the codec of a scalar that is written as text."""

    def write(value: object, at: DocumentPath) -> object:
        try:
            return notation.write(value)
        except (ValueError, OverflowError) as error:
            raise at.unwritable(f"is {format_value(value)}, which cannot be written: {error}") from error

    def read(json: object, at: DocumentPath) -> object:
        if isinstance(json, str):
            try:
                return notation.read(json)
            except (ValueError, ArithmeticError):
                pass
        raise at.invalid(json, notation.valid)

    return Codec(write, read)


def _scalar(cls: type, notation: Notation) -> Codec:
    return restricted(_text(notation), lambda value: type(value) is cls, notation.valid)


SCALARS: Final[Mapping[type, Codec]] = {cls: _scalar(cls, notation) for cls, notation in NOTATIONS.items()}
"""The codecs of scalars that JSON lacks."""

_DURATIONS: Final = _text(DURATION)

LATENESS: Final = Codec(
    lambda value, at: "FOREVER" if value is FOREVER else _DURATIONS.write(value, at),
    lambda json, at: FOREVER if json == "FOREVER" else _DURATIONS.read(json, at),
)
"""A duration, or ``FOREVER``."""


def member_of(cls: type[Enum]) -> Codec:
    """Returns the codec of the members of an enum: their names."""

    def write(value: object, at: DocumentPath) -> object:
        if not isinstance(value, cls):
            raise at.mistyped(value)
        return value.name

    def read(json: object, at: DocumentPath) -> object:
        if isinstance(json, str) and json in cls.__members__:
            return cls.__members__[json]
        raise at.invalid(json, f"one of {', '.join(cls.__members__)}")

    return Codec(write, read)


def optional(of: Codec) -> Codec:
    """Returns the codec of a value or ``null``."""
    return Codec(
        lambda value, at: None if value is None else of.write(value, at),
        lambda json, at: None if json is None else of.read(json, at),
    )


def items(of: Codec, cls: type[tuple[object, ...] | list[object] | frozenset[object]]) -> Codec:
    """Returns the codec of a tuple, list or frozenset whose items have one type: a list."""

    def write(value: object, at: DocumentPath) -> object:
        if not isinstance(value, cls):
            raise at.mistyped(value)
        written = [of.write(item, at.item(i)) for i, item in enumerate(value)]
        return sorted(written, key=json_text.dumps) if cls is frozenset else written

    def read(json: object, at: DocumentPath) -> object:
        values = [of.read(item, at.item(i)) for i, item in enumerate(_require_list(json, at))]
        if cls is frozenset and not (
            all(isinstance(item, Hashable) for item in values) and len({*values}) == len(values)
        ):
            raise at.invalid(json, "a list of distinct, hashable items")
        return cls(values)

    return Codec(write, read)


def product(parts: tuple[Codec, ...]) -> Codec:
    """Returns the codec of a tuple of fixed length: a list."""

    def write(value: object, at: DocumentPath) -> object:
        if not isinstance(value, tuple) or len(value) != len(parts):
            raise at.mistyped(value)
        return [part.write(item, at.item(i)) for i, (part, item) in enumerate(zip(parts, value, strict=True))]

    def read(json: object, at: DocumentPath) -> object:
        json_items = _require_list(json, at)
        if len(json_items) != len(parts):
            raise at.invalid(json, f"a list of {len(parts)}")
        return tuple(
            part.read(item, at.item(i)) for i, (part, item) in enumerate(zip(parts, json_items, strict=True))
        )

    return Codec(write, read)


def mapping(key: Codec, value: Codec) -> Codec:
    """Returns the codec of a mapping: a list of pairs."""

    def write(mapping: object, at: DocumentPath) -> object:
        if not isinstance(mapping, Mapping):
            raise at.mistyped(mapping)
        return [
            [key.write(k, at.item(i)), value.write(v, at.item(i))] for i, (k, v) in enumerate(mapping.items())
        ]

    def read(json: object, at: DocumentPath) -> object:
        mapping: dict[object, object] = {}
        for i, pair in enumerate(_require_list(json, at)):
            inner = at.item(i)
            match _require_list(pair, inner):
                case [first, second]:
                    k, v = key.read(first, inner.item(0)), value.read(second, inner.item(1))
                case _:
                    raise inner.invalid(pair, "a list of a key and a value")
            if not isinstance(k, Hashable) or k in mapping:
                raise inner.invalid(pair, "a pair with a distinct, hashable key")
            mapping[k] = v
        return mapping

    return Codec(write, read)


def _require_list(json: object, at: DocumentPath) -> list[object]:
    if isinstance(json, list):
        return json
    raise at.invalid(json, "a list")
