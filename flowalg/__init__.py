"""flowalg: the Dataflow Model as an immutable, statically typed algebra.

A pipeline is a value. ``flowalg_reference`` runs it in memory, ``flowalg_spark.batch`` and
``flowalg_spark.streaming`` on Spark, and all three give the same panes.
"""

from flowalg.assignment import CustomWindows, FixedWindows, GlobalWindows, Sessions, SlidingWindows, WindowFn
from flowalg.calendars import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.collecting import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners import Aggregate, Combiner, Count, Group, Max, Mean, Min, Sum
from flowalg.distinct import ApproximateDistinct
from flowalg.documents import from_json, to_json
from flowalg.errors import (
    ArgumentError,
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
from flowalg.explaining import explain
from flowalg.hazards import Danger, Hazard, hazards
from flowalg.html import PaneTable
from flowalg.kv import KV
from flowalg.normal_forms import normalise
from flowalg.own_combiners import combiner, reducing
from flowalg.panes import Change, Drop, DropReason, Pane, PaneInfo, Timing
from flowalg.pcollection import PCollection, SideInput, flatten
from flowalg.quantiles import Quantile, Quantiles
from flowalg.several import together
from flowalg.source import Source, sources
from flowalg.statistics import Variance
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
from flowalg.triggers import (
    AfterDelay,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtWatermark,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
)
from flowalg.watermarks import (
    BoundedDisorder,
    ClockReport,
    ClockView,
    CustomPolicy,
    IngressTime,
    LagQuantile,
    MonotonePerPartition,
    Perfect,
    Sighting,
    SourceClock,
    Timeout,
    WatermarkPolicy,
)
from flowalg.windowing import FOREVER, Accumulation, AllowedLateness, OnTime, PaneTime, WindowingStrategy
from flowalg.windows import GLOBAL_WINDOW, Window
from flowalg.words import in_words

__all__ = [
    "FOREVER",
    "GLOBAL_WINDOW",
    "KV",
    "MAX_TIME",
    "MIN_TIME",
    "Accumulation",
    "AfterDelay",
    "Aggregate",
    "AllOf",
    "AllowedLateness",
    "Always",
    "And",
    "AnyOf",
    "ApproximateDistinct",
    "ArgumentError",
    "AtCount",
    "AtElement",
    "AtMeasure",
    "AtPeriod",
    "AtSignal",
    "AtWatermark",
    "BoundedDisorder",
    "CalendarDays",
    "CalendarMonths",
    "CalendarWeeks",
    "Change",
    "ClockReport",
    "ClockView",
    "Combiner",
    "Count",
    "CustomPolicy",
    "CustomWindows",
    "Danger",
    "DocumentError",
    "Drop",
    "DropReason",
    "ElementError",
    "EventTime",
    "FixedWindows",
    "FlowalgError",
    "GlobalWindows",
    "Group",
    "Hazard",
    "IngressTime",
    "Instant",
    "KeyedCollectionError",
    "LagQuantile",
    "Max",
    "Mean",
    "Min",
    "MissingExtraError",
    "MonotonePerPartition",
    "Never",
    "NotWritableError",
    "OnTime",
    "OnceTrigger",
    "Or",
    "OrFinally",
    "PCollection",
    "Pane",
    "PaneInfo",
    "PaneTable",
    "PaneTime",
    "Perfect",
    "ProcessingTime",
    "Quantile",
    "Quantiles",
    "RecordTypeError",
    "Repeat",
    "RepeatUntil",
    "SchemaMismatchError",
    "SequenceOf",
    "Sessions",
    "SideInput",
    "Sighting",
    "SlidingWindows",
    "Source",
    "SourceClock",
    "Sum",
    "Timeline",
    "Timeout",
    "Timing",
    "ToList",
    "ToSet",
    "TopN",
    "Trigger",
    "UnboundSourceError",
    "UnsupportedError",
    "UserFunctionError",
    "ValueRangeError",
    "Variance",
    "WatermarkPolicy",
    "Window",
    "WindowFn",
    "WindowingStrategy",
    "combiner",
    "event_time",
    "explain",
    "flatten",
    "from_json",
    "hazards",
    "in_words",
    "normalise",
    "processing_time",
    "reducing",
    "sources",
    "to_datetime",
    "to_json",
    "together",
]
