"""Plans: what an engine computes for the outputs of a pipeline, decided once for all engines.

``plan_batch`` and ``plan_stream`` return a ``Plan``, whose nodes an engine matches on.
"""

from flowalg.plan.nodes import (
    Apply,
    CoGroup,
    Combine,
    Compute,
    ExplodeLists,
    FanOut,
    JoinByKey,
    PairWithMetadata,
    PlanNode,
    Read,
    ReadSide,
    StageNode,
    Union,
)
from flowalg.plan.plan import Plan, plan_batch, plan_stream

__all__ = [
    "Apply",
    "CoGroup",
    "Combine",
    "Compute",
    "ExplodeLists",
    "FanOut",
    "JoinByKey",
    "PairWithMetadata",
    "Plan",
    "PlanNode",
    "Read",
    "ReadSide",
    "StageNode",
    "Union",
    "plan_batch",
    "plan_stream",
]
