"""Serialization of pipelines, sources, triggers, windows, policies, combiners and timelines as JSON documents.

``names`` maps functions and classes to import names. ``codecs`` and ``types`` have the codecs that write and read
values; ``records`` derives the codec of a declared type. ``document`` adds the format and the version.
"""

from flowalg.serialization.document import (
    COMBINER,
    ONCE_TRIGGER,
    TRIGGER,
    WATERMARK_POLICY,
    WINDOWS,
    from_json,
    to_json,
)

__all__ = [
    "COMBINER",
    "ONCE_TRIGGER",
    "TRIGGER",
    "WATERMARK_POLICY",
    "WINDOWS",
    "from_json",
    "to_json",
]
