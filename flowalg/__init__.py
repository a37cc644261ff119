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
from flowalg.computations.computation import Computation, Late, Processor
from flowalg.computations.contents import KeyContents, WaitingElement
from flowalg.computations.transition import (
    Clocks,
    EventTimer,
    Observed,
    ProcessingTimer,
    Timer,
    Transition,
)
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
    INGRESS_TIME,
    MAX_TIME,
    MIN_TIME,
    EventTime,
    ProcessingTime,
    event_time,
    processing_time,
)
from flowalg.interpreters.installed import load_interpreter
from flowalg.interpreters.interpreter import Interpreter
from flowalg.notebook.html import PaneTable
from flowalg.pipeline.pcollection import PCollection, SideInput, flatten
from flowalg.pipeline.ptransform import PTransform, ptransform
from flowalg.pipeline.source import Source, sources
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.current import WindowedValue, final_values
from flowalg.runs.events import Observer, QueryAdvanced, QueryEnded, QueryEvent, QueryStarted
from flowalg.runs.metrics import QueryProgress, SourceMetrics, StageMetrics
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
    "INGRESS_TIME",
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
    "Clocks",
    "Combiner",
    "Computation",
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
    "EventTimer",
    "FittedLag",
    "FixedWindows",
    "FlowalgError",
    "GlobalWindows",
    "Group",
    "Hazard",
    "IngressTime",
    "Instant",
    "Interpreter",
    "KeyContents",
    "KeyedCollectionError",
    "LagDistribution",
    "LagQuantile",
    "Late",
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
    "Observed",
    "Observer",
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
    "ProcessingTimer",
    "Processor",
    "Publication",
    "Quantile",
    "Quantiles",
    "QueryAdvanced",
    "QueryEnded",
    "QueryEvent",
    "QueryProgress",
    "QueryStarted",
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
    "SourceMetrics",
    "StageMetrics",
    "Sum",
    "Timeline",
    "Timeout",
    "Timer",
    "TimestampCombiner",
    "Timing",
    "ToList",
    "ToSet",
    "TopN",
    "Transition",
    "Trigger",
    "TriggerClocks",
    "UnboundSourceError",
    "UnsupportedError",
    "UserFunctionError",
    "ValueRangeError",
    "Variance",
    "WaitingElement",
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
    "load_interpreter",
    "normalise",
    "processing_time",
    "ptransform",
    "reduce_combiner",
    "sources",
    "to_json",
    "together",
]
