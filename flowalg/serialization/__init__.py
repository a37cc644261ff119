"""Serialization of pipelines, sources, triggers, windows, policies, combiners and timelines as JSON documents.

``names`` maps functions and classes to import names. ``forms`` derives the form of a field from its declared type;
``writing`` and ``reading`` match on forms. ``document`` adds the format and the version.
"""

from flowalg.serialization.document import (
    COMBINER,
    ONCE_TRIGGER,
    TRIGGER,
    WATERMARK_POLICY,
    WINDOWS,
    Kind,
    Writable,
    from_json,
    to_json,
)

__all__ = [
    "COMBINER",
    "ONCE_TRIGGER",
    "TRIGGER",
    "WATERMARK_POLICY",
    "WINDOWS",
    "Kind",
    "Writable",
    "from_json",
    "to_json",
]
