"""Watermarks: how much of event time is believed to have been seen (SEMANTICS section 9).

A policy is a value and a pure state machine. It is told of each instant by a ``ClockSummary``, a summary that
parts of the input can make apart and then merge, and moves a ``SourceClock`` on, which has the watermark.
"""

from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.custom import ClockView, CustomPolicy
from flowalg.watermarks.history import Moment, clocks_of
from flowalg.watermarks.lags import RecentLags
from flowalg.watermarks.policies import (
    BoundedOutOfOrderness,
    IngressTime,
    LagQuantile,
    MonotonicTimestamps,
    Perfect,
    Timeout,
)
from flowalg.watermarks.policy import WatermarkPolicy
from flowalg.watermarks.summaries import ClockSummary, Observation, PartitionClock

__all__ = [
    "BoundedOutOfOrderness",
    "ClockSummary",
    "ClockView",
    "CustomPolicy",
    "IngressTime",
    "LagQuantile",
    "Moment",
    "MonotonicTimestamps",
    "Observation",
    "PartitionClock",
    "Perfect",
    "RecentLags",
    "SourceClock",
    "Timeout",
    "WatermarkPolicy",
    "clocks_of",
]
