"""What a pipeline runs on and what a run gives: timelines, micro-batches, panes."""

from flowalg.data.metadata import PaneTiming, Timing, WindowBounds
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.current import WindowedValue, final_values
from flowalg.runs.events import Observer, QueryAdvanced, QueryEnded, QueryEvent, QueryStarted
from flowalg.runs.metrics import QueryProgress, SourceMetrics, StageMetrics
from flowalg.runs.output import Output, OutputElement
from flowalg.runs.panes import Change, Drop, DroppedElement, DropReason, Pane, PaneInfo
from flowalg.runs.run import Outputs, Run
from flowalg.runs.signals import Signal
from flowalg.runs.timeline import Instant, Timeline

__all__ = [
    "BadRecord",
    "Change",
    "Drop",
    "DropReason",
    "DroppedElement",
    "Instant",
    "Observer",
    "Output",
    "OutputElement",
    "Outputs",
    "Pane",
    "PaneInfo",
    "PaneTiming",
    "QueryAdvanced",
    "QueryEnded",
    "QueryEvent",
    "QueryProgress",
    "QueryStarted",
    "Run",
    "Signal",
    "SourceMetrics",
    "StageMetrics",
    "Timeline",
    "Timing",
    "WindowBounds",
    "WindowedValue",
    "final_values",
]
