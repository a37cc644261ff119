"""Errors: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from typing import assert_type

from flowalg import (
    ArgumentError,
    CheckpointError,
    DocumentError,
    ElementError,
    FlowalgError,
    KeyedCollectionError,
    MissingExtraError,
    NotWritableError,
    RecordTypeError,
    SchemaMismatchError,
    UnboundSourceError,
    UnsupportedError,
    UserFunctionError,
    ValueRangeError,
)


def errors(error: ArgumentError) -> None:
    """All errors are ``FlowalgError``."""
    assert_type(ArgumentError("count", 3, "an even int", why="it is odd"), ArgumentError)
    assert_type(error.argument, str)
    known: list[FlowalgError] = [
        assert_type(CheckpointError(), CheckpointError),
        assert_type(DocumentError(), DocumentError),
        assert_type(ElementError(), ElementError),
        assert_type(KeyedCollectionError(), KeyedCollectionError),
        assert_type(MissingExtraError(), MissingExtraError),
        assert_type(NotWritableError(), NotWritableError),
        assert_type(RecordTypeError(), RecordTypeError),
        assert_type(SchemaMismatchError(), SchemaMismatchError),
        assert_type(UnboundSourceError(), UnboundSourceError),
        assert_type(UnsupportedError(), UnsupportedError),
        assert_type(UserFunctionError(), UserFunctionError),
        assert_type(ValueRangeError(), ValueRangeError),
    ]
    assert_type(known, list[FlowalgError])


def bases(
    argument: ArgumentError, record: RecordTypeError, unbound: UnboundSourceError, number: ValueRangeError
) -> tuple[ValueError, TypeError, KeyError, ArithmeticError]:
    """Each error is also an instance of the built-in error of its kind."""
    return argument, record, unbound, number
