"""flowalg: the Dataflow Model as an immutable, statically typed algebra.

A pipeline is a value, and an ``Interpreter`` runs it: ``flowalg_reference.Reference`` in memory,
``flowalg_spark.SparkBatch`` and ``flowalg_spark.SparkStreaming`` on Spark. Over the same instants a stream emits the
panes of the reference; a batch emits one pane for each key and window, with the final value.
"""

from flowalg.analysis.capabilities import Capabilities, Mode
from flowalg.analysis.explain import explain
from flowalg.analysis.hazards import Danger, Hazard, hazards
from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import Aggregate, Combiner, Count, Group, Max, Mean, Min, Sum
from flowalg.combiners.distinct import ApproximateDistinct
from flowalg.combiners.functional import combiner, reduce_combiner
from flowalg.combiners.product import together
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.combiners.statistics import Variance
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
from flowalg.data.kv import KV
from flowalg.data.metadata import PaneTiming, Timing, WindowBounds
from flowalg.data.time import (
    MAX_TIME,
    MIN_TIME,
    EventTime,
    ProcessingTime,
    event_time,
    processing_time,
)
from flowalg.notebook.html import PaneTable
from flowalg.pipeline.pcollection import PCollection, SideInput, flatten
from flowalg.pipeline.ptransform import PTransform, ptransform
from flowalg.pipeline.source import Source, sources
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.current import WindowedValue, final_values
from flowalg.runs.interpreter import Interpreter
from flowalg.runs.output import Output, OutputElement
from flowalg.runs.panes import Change, Drop, DropReason, Pane, PaneInfo
from flowalg.runs.run import Outputs, Run
from flowalg.runs.signals import Signal
from flowalg.runs.timeline import Instant, Timeline
from flowalg.serialization import from_json, to_json
from flowalg.triggers.describe import describe
from flowalg.triggers.normal_form import normalise
from flowalg.triggers.syntax import (
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtValue,
    AtWatermark,
    CustomTrigger,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Trigger,
)
from flowalg.triggers.views import EVERY_INSTANT, Arrivals, TriggerClocks
from flowalg.watermarks import (
    BoundedOutOfOrderness,
    ClockSummary,
    ClockView,
    CustomPolicy,
    FittedLag,
    IngressTime,
    LagDistribution,
    LagQuantile,
    MonotonicTimestamps,
    Observation,
    Perfect,
    ProcessingTimeLag,
    Publication,
    SourceClock,
    Timeout,
    WatermarkPolicy,
)
from flowalg.windows.calendars import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.strategy import (
    FOREVER,
    Accumulation,
    AllowedLateness,
    OnTimeBehavior,
    TimestampCombiner,
    WindowingStrategy,
)
from flowalg.windows.window import GLOBAL_WINDOW, Window
from flowalg.windows.window_functions import (
    CustomWindows,
    FixedWindows,
    GlobalWindows,
    MergedWindow,
    Sessions,
    SlidingWindows,
    WindowFn,
    WindowsByValue,
)

__all__ = [
    "EVERY_INSTANT",
    "FOREVER",
    "GLOBAL_WINDOW",
    "KV",
    "MAX_TIME",
    "MIN_TIME",
    "Accumulation",
    "AfterDelay",
    "AfterInactivity",
    "Aggregate",
    "AllOf",
    "AllowedLateness",
    "Always",
    "And",
    "AnyOf",
    "ApproximateDistinct",
    "ArgumentError",
    "Arrivals",
    "AtCount",
    "AtElement",
    "AtMeasure",
    "AtPeriod",
    "AtSignal",
    "AtValue",
    "AtWatermark",
    "BadRecord",
    "BoundedOutOfOrderness",
    "CalendarDays",
    "CalendarMonths",
    "CalendarWeeks",
    "Capabilities",
    "Change",
    "CheckpointError",
    "ClockSummary",
    "ClockView",
    "Combiner",
    "Count",
    "CustomPolicy",
    "CustomTrigger",
    "CustomWindows",
    "Danger",
    "DocumentError",
    "Drop",
    "DropReason",
    "ElementError",
    "EventTime",
    "FittedLag",
    "FixedWindows",
    "FlowalgError",
    "GlobalWindows",
    "Group",
    "Hazard",
    "IngressTime",
    "Instant",
    "Interpreter",
    "KeyedCollectionError",
    "LagDistribution",
    "LagQuantile",
    "Max",
    "Mean",
    "MergedWindow",
    "Min",
    "MissingExtraError",
    "Mode",
    "MonotonicTimestamps",
    "Never",
    "NotWritableError",
    "Observation",
    "OnTimeBehavior",
    "OnceTrigger",
    "Or",
    "OrFinally",
    "Output",
    "OutputElement",
    "Outputs",
    "PCollection",
    "PTransform",
    "Pane",
    "PaneInfo",
    "PaneTable",
    "PaneTiming",
    "Perfect",
    "ProcessingTime",
    "ProcessingTimeLag",
    "Publication",
    "Quantile",
    "Quantiles",
    "RecordTypeError",
    "Repeat",
    "RepeatUntil",
    "Run",
    "SchemaMismatchError",
    "SequenceOf",
    "Sessions",
    "SideInput",
    "Signal",
    "SlidingWindows",
    "Source",
    "SourceClock",
    "Sum",
    "Timeline",
    "Timeout",
    "TimestampCombiner",
    "Timing",
    "ToList",
    "ToSet",
    "TopN",
    "Trigger",
    "TriggerClocks",
    "UnboundSourceError",
    "UnsupportedError",
    "UserFunctionError",
    "ValueRangeError",
    "Variance",
    "WatermarkPolicy",
    "Window",
    "WindowBounds",
    "WindowFn",
    "WindowedValue",
    "WindowingStrategy",
    "WindowsByValue",
    "combiner",
    "describe",
    "event_time",
    "explain",
    "final_values",
    "flatten",
    "from_json",
    "hazards",
    "normalise",
    "processing_time",
    "ptransform",
    "reduce_combiner",
    "sources",
    "to_json",
    "together",
]
