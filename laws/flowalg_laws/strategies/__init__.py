"""Hypothesis strategies for the inputs of all laws. They shrink to readable examples.

``free_timelines`` and ``windowing_strategies`` generate the inputs of one grouping. ``timelines`` and
``partitioned_timelines`` generate timelines with a watermark policy. ``scenarios`` generate all inputs but the trigger.
"""

from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import START, Reading
from flowalg_laws.strategies.combiners import combiners
from flowalg_laws.strategies.computations import computations, event_time_computations, key_histories
from flowalg_laws.strategies.elements import batches, bundles, keys, readings
from flowalg_laws.strategies.pipelines import pipelines
from flowalg_laws.strategies.sources import halfway, histories, observations, policies, watermark_policies
from flowalg_laws.strategies.timelines import (
    dense_timelines,
    free_timelines,
    partitioned_timelines,
    timelines,
)
from flowalg_laws.strategies.times import durations, event_times, minutes, quantiles
from flowalg_laws.strategies.triggers import magnitude, once_leaves, once_triggers, positive, triggers
from flowalg_laws.strategies.windowings import latenesses, scenarios, windowing_strategies
from flowalg_laws.strategies.windows import (
    fixed_windows,
    fixed_windows_by_key,
    sessions,
    sliding_windows,
    unmerging_windows,
    window_fns,
)

__all__ = [
    "START",
    "Reading",
    "apply_windowing",
    "batches",
    "bundles",
    "combiners",
    "computations",
    "dense_timelines",
    "durations",
    "event_time_computations",
    "event_times",
    "fixed_windows",
    "fixed_windows_by_key",
    "free_timelines",
    "halfway",
    "histories",
    "key_histories",
    "keys",
    "latenesses",
    "magnitude",
    "minutes",
    "observations",
    "once_leaves",
    "once_triggers",
    "partitioned_timelines",
    "pipelines",
    "policies",
    "positive",
    "quantiles",
    "readings",
    "scenarios",
    "sessions",
    "sliding_windows",
    "timelines",
    "triggers",
    "unmerging_windows",
    "watermark_policies",
    "window_fns",
    "windowing_strategies",
]
