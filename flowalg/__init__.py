"""flowalg: the Dataflow Model as an immutable, statically typed algebra.

A pipeline is a value, and an ``Interpreter`` runs it: ``flowalg_reference.Reference`` in memory,
``flowalg_spark.SparkBatch`` and ``flowalg_spark.SparkStreaming`` on Spark. Over the same instants a stream emits the
panes of the reference; a batch emits one pane for each key and window, with the final value.

These are the names that most pipelines need. All public names are in their rooms: ``flowalg.windows``, ``triggers``,
``combiners``, ``computations``, ``watermarks``, ``pipeline``, ``transforms``, ``data``, ``runs``, ``interpreters``,
``analysis``, ``serialization``, ``notebook`` and ``errors``.
"""

from flowalg import notebook as notebook  # registers the views of values
from flowalg.analysis import Mode, explain, hazards
from flowalg.combiners import Aggregate, Count, Max, Mean, Min, Quantile, Sum, ToList, TopN, combiner
from flowalg.computations import Computation
from flowalg.data import KV, EventTime, ProcessingTime, event_time, processing_time
from flowalg.errors import FlowalgError
from flowalg.interpreters import Interpreter, load_interpreter
from flowalg.pipeline import PCollection, PTransform, Source, flatten, ptransform
from flowalg.runs import Outputs, Pane, Run, Timeline, final_values
from flowalg.serialization import from_json, to_json
from flowalg.triggers import AtCount, AtPeriod, AtWatermark, OrFinally, Repeat, SequenceOf
from flowalg.watermarks import BoundedOutOfOrderness, MonotonicTimestamps, Perfect
from flowalg.windows import (
    FOREVER,
    Accumulation,
    CalendarDays,
    FixedWindows,
    GlobalWindows,
    Sessions,
    SlidingWindows,
    Window,
)

__all__ = [
    "FOREVER",
    "KV",
    "Accumulation",
    "Aggregate",
    "AtCount",
    "AtPeriod",
    "AtWatermark",
    "BoundedOutOfOrderness",
    "CalendarDays",
    "Computation",
    "Count",
    "EventTime",
    "FixedWindows",
    "FlowalgError",
    "GlobalWindows",
    "Interpreter",
    "Max",
    "Mean",
    "Min",
    "Mode",
    "MonotonicTimestamps",
    "OrFinally",
    "Outputs",
    "PCollection",
    "PTransform",
    "Pane",
    "Perfect",
    "ProcessingTime",
    "Quantile",
    "Repeat",
    "Run",
    "SequenceOf",
    "Sessions",
    "SlidingWindows",
    "Source",
    "Sum",
    "Timeline",
    "ToList",
    "TopN",
    "Window",
    "combiner",
    "event_time",
    "explain",
    "final_values",
    "flatten",
    "from_json",
    "hazards",
    "load_interpreter",
    "processing_time",
    "ptransform",
    "to_json",
]
