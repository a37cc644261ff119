"""A local engine around the shard step: whole pipelines, instant by instant, with shards and clocks as in a cluster.

Element-wise steps run in plain Python, groupings through ``flowalg_shard.step.step``. Tests use it to compare the step
with the reference interpreter without Spark.
"""

from flowalg_shard.local.inputs import MicroBatches
from flowalg_shard.local.run import Cluster, DropCount, Run, Waking, run

__all__ = ["Cluster", "DropCount", "MicroBatches", "Run", "Waking", "run"]
