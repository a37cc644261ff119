"""The values that elements hold: times, shapes, key-value pairs, hashing, and the errors of the library."""

from flowalg.data.class_marks import stored, tagged
from flowalg.data.kv import KV
from flowalg.data.shapes import one_of
from flowalg.data.time import (
    INGRESS_TIME,
    MAX_TIME,
    MIN_TIME,
    EventTime,
    ProcessingTime,
    event_time,
    processing_time,
)

__all__ = [
    "INGRESS_TIME",
    "KV",
    "MAX_TIME",
    "MIN_TIME",
    "EventTime",
    "ProcessingTime",
    "event_time",
    "one_of",
    "processing_time",
    "stored",
    "tagged",
]
