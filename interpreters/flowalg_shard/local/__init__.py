"""A local engine around the shard step: whole pipelines, instant by instant, with shards and clocks as in a cluster.

``Local`` is the interpreter. Element-wise steps run in plain Python, groupings through ``flowalg_shard.step.step``.
Tests use it to compare the step with the reference interpreter without Spark.
"""

from flowalg_shard.local.grouping import Cluster
from flowalg_shard.local.run import Local

__all__ = ["Cluster", "Local"]
