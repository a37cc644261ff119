"""Documents: pipelines, sources, triggers, windows, policies, combiners and timelines as JSON, and back, equal.

``names`` gives functions and classes their names; ``forms`` derives how a field is written from its declared type;
``writing`` and ``reading`` are a match over the forms; ``document`` puts format and version around it.
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
