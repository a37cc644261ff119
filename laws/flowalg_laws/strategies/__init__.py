"""hypothesis strategies for all that the laws speak of. They shrink to something that a person can read.

``free_timelines`` and ``windowing_strategies`` generate what one grouping can meet; ``timelines`` and
``partitioned_timelines`` generate it through a watermark policy; ``situations`` is all of it but the trigger.
"""

from flowalg_laws.kit.interpreters import put_into
from flowalg_laws.kit.readings import START, Reading
from flowalg_laws.strategies.combiners import combiners
from flowalg_laws.strategies.elements import batches, bundles, keys, readings
from flowalg_laws.strategies.pipelines import pipelines
from flowalg_laws.strategies.sources import halfway, histories, observations, policies, watermark_policies
from flowalg_laws.strategies.timelines import crowds, free_timelines, partitioned_timelines, timelines
from flowalg_laws.strategies.times import durations, event_times, minutes, quantiles
from flowalg_laws.strategies.triggers import magnitude, once_leaves, once_triggers, positive, triggers
from flowalg_laws.strategies.windowings import latenesses, situations, windowing_strategies
from flowalg_laws.strategies.windows import (
    fixed_windows,
    phased_windows,
    sessions,
    sliding_windows,
    unmerging_windows,
    window_fns,
)

__all__ = [
    "START",
    "Reading",
    "batches",
    "bundles",
    "combiners",
    "crowds",
    "durations",
    "event_times",
    "fixed_windows",
    "free_timelines",
    "halfway",
    "histories",
    "keys",
    "latenesses",
    "magnitude",
    "minutes",
    "observations",
    "once_leaves",
    "once_triggers",
    "partitioned_timelines",
    "phased_windows",
    "pipelines",
    "policies",
    "positive",
    "put_into",
    "quantiles",
    "readings",
    "sessions",
    "situations",
    "sliding_windows",
    "timelines",
    "triggers",
    "unmerging_windows",
    "watermark_policies",
    "window_fns",
    "windowing_strategies",
]
