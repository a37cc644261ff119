"""flowalg: the Dataflow Model as an immutable, statically typed algebra.

A pipeline is a value. ``flowalg_reference`` runs it in memory, ``flowalg_spark.batch`` and
``flowalg_spark.streaming`` on Spark, and all three give the same panes.
"""

from flowalg.combiners import Aggregate, Combiner, Count, Max, Mean, Min, Sum
from flowalg.errors import (
    ArgumentError,
    ElementError,
    FlowalgError,
    KeyedCollectionError,
    RecordTypeError,
    SchemaMismatchError,
    UnboundSourceError,
    UnsupportedError,
    UserFunctionError,
    ValueRangeError,
)
from flowalg.kv import KV
from flowalg.panes import Change, Drop, DropReason, Pane, PaneInfo, Timing
from flowalg.pcollection import PCollection, Source
from flowalg.time import (
    MAX_TIME,
    MIN_TIME,
    EventTime,
    ProcessingTime,
    event_time,
    processing_time,
    to_datetime,
)
from flowalg.timeline import Instant, Timeline
from flowalg.triggers import AtWatermark, OnceTrigger, Repeat, Trigger
from flowalg.watermarks import BoundedDisorder, ClockReport, WatermarkPolicy
from flowalg.windowing import FOREVER, Accumulation, AllowedLateness, WindowingStrategy
from flowalg.windows import GLOBAL_WINDOW, FixedWindows, GlobalWindows, Window, WindowFn

__all__ = [
    "FOREVER",
    "GLOBAL_WINDOW",
    "KV",
    "MAX_TIME",
    "MIN_TIME",
    "Accumulation",
    "Aggregate",
    "AllowedLateness",
    "ArgumentError",
    "AtWatermark",
    "BoundedDisorder",
    "Change",
    "ClockReport",
    "Combiner",
    "Count",
    "Drop",
    "DropReason",
    "ElementError",
    "EventTime",
    "FixedWindows",
    "FlowalgError",
    "GlobalWindows",
    "Instant",
    "KeyedCollectionError",
    "Max",
    "Mean",
    "Min",
    "OnceTrigger",
    "PCollection",
    "Pane",
    "PaneInfo",
    "ProcessingTime",
    "RecordTypeError",
    "Repeat",
    "SchemaMismatchError",
    "Source",
    "Sum",
    "Timeline",
    "Timing",
    "Trigger",
    "UnboundSourceError",
    "UnsupportedError",
    "UserFunctionError",
    "ValueRangeError",
    "WatermarkPolicy",
    "Window",
    "WindowFn",
    "WindowingStrategy",
    "event_time",
    "processing_time",
    "to_datetime",
]
