"""Watermarks: lower bounds, assumed or known, of the event times still to be observed (SEMANTICS section 9).

A watermark policy is a value and a pure state machine. Its state is a ``SourceClock``, which holds the watermark. Each
instant is summarized in a ``ClockSummary``; summaries of parts of the input can be made independently and merged.
"""

from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.custom import ClockView, CustomPolicy
from flowalg.watermarks.distributions import LagDistribution
from flowalg.watermarks.policies import (
    BoundedOutOfOrderness,
    FittedLag,
    IngressTime,
    LagQuantile,
    MonotonicTimestamps,
    Perfect,
    ProcessingTimeLag,
    Timeout,
)
from flowalg.watermarks.policy import WatermarkPolicy
from flowalg.watermarks.summaries import (
    ClockSummary,
    Observation,
    Publication,
)

__all__ = [
    "BoundedOutOfOrderness",
    "ClockSummary",
    "ClockView",
    "CustomPolicy",
    "FittedLag",
    "IngressTime",
    "LagDistribution",
    "LagQuantile",
    "MonotonicTimestamps",
    "Observation",
    "Perfect",
    "ProcessingTimeLag",
    "Publication",
    "SourceClock",
    "Timeout",
    "WatermarkPolicy",
]
