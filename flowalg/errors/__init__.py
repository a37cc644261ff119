"""The errors that the library raises, each of which is a ``FlowalgError``."""

from flowalg.data.errors import (
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

__all__ = [
    "ArgumentError",
    "CheckpointError",
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
]
