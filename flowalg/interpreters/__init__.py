"""What an interpreter is, which ones are installed, and what one in plain Python is made of.

``Fold`` and ``fold_all`` give each node of a plan its meaning once. An ``Element`` goes from ``read_records`` through
``results_of`` a step to ``output_of`` a run. ``assign_windows`` and ``merged_windows`` are the windows of a grouping.
"""

from flowalg.analysis.capabilities import Capabilities, Mode
from flowalg.analysis.features import AnyFeature, Feature, features_of
from flowalg.data.values import sort_key
from flowalg.interpreters.installed import interpreter_names, load_interpreter
from flowalg.interpreters.interpreter import Interpreter
from flowalg.pipeline.graph import Fold, fold_all
from flowalg.runs.elements import (
    Element,
    at_any_time,
    output_of,
    pair_with_metadata,
    read_records,
    results_of,
    tag_elements,
)
from flowalg.runs.inputs import AnySource, timelines_by_name
from flowalg.runs.output import sort_panes
from flowalg.runs.run import run_of
from flowalg.runs.timeline import as_batch
from flowalg.windows.window_functions import as_merging, assign_windows, merged_windows

__all__ = [
    "AnyFeature",
    "AnySource",
    "Capabilities",
    "Element",
    "Feature",
    "Fold",
    "Interpreter",
    "Mode",
    "as_batch",
    "as_merging",
    "assign_windows",
    "at_any_time",
    "features_of",
    "fold_all",
    "interpreter_names",
    "load_interpreter",
    "merged_windows",
    "output_of",
    "pair_with_metadata",
    "read_records",
    "results_of",
    "run_of",
    "sort_key",
    "sort_panes",
    "tag_elements",
    "timelines_by_name",
]
