"""flowalg: the Dataflow Model as an immutable, statically typed algebra.

A pipeline is a value, and an ``Interpreter`` runs it: ``flowalg_reference.Reference`` in memory,
``flowalg_spark.SparkBatch`` and ``flowalg_spark.SparkStreaming`` on Spark. Over the same instants a stream emits the
panes of the reference; a batch emits one pane for each key and window, with the final value.

These are the names that most pipelines need. All public names are in their rooms: ``flowalg.windows``, ``triggers``,
``combiners``, ``computations``, ``watermarks``, ``pipeline``, ``data``, ``runs``, ``interpreters``, ``analysis``,
``serialization``, ``notebook`` and ``errors``.
"""

from flowalg import errors as errors
from flowalg import notebook as notebook
from flowalg.analysis.capabilities import Mode
from flowalg.analysis.explain import explain
from flowalg.analysis.hazards import hazards
from flowalg.combiners.collections import ToList, TopN
from flowalg.combiners.core import Aggregate, Count, Max, Mean, Min, Sum
from flowalg.combiners.functional import combiner
from flowalg.combiners.quantiles import Quantile
from flowalg.computations.computation import Computation
from flowalg.data.errors import FlowalgError
from flowalg.data.kv import KV
from flowalg.data.time import EventTime, ProcessingTime, event_time, processing_time
from flowalg.interpreters.installed import load_interpreter
from flowalg.interpreters.interpreter import Interpreter
from flowalg.pipeline.pcollection import PCollection, flatten
from flowalg.pipeline.ptransform import PTransform, ptransform
from flowalg.pipeline.source import Source
from flowalg.runs.current import final_values
from flowalg.runs.panes import Pane
from flowalg.runs.run import Outputs, Run
from flowalg.runs.timeline import Timeline
from flowalg.serialization import from_json, to_json
from flowalg.triggers.syntax import AtCount, AtPeriod, AtWatermark, OrFinally, Repeat, SequenceOf
from flowalg.watermarks import BoundedOutOfOrderness, MonotonicTimestamps, Perfect
from flowalg.windows.calendars import CalendarDays
from flowalg.windows.strategy import FOREVER, Accumulation
from flowalg.windows.window import Window
from flowalg.windows.window_functions import FixedWindows, GlobalWindows, Sessions, SlidingWindows

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
