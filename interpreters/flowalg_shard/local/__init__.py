"""A local engine around the shard step: whole pipelines, instant by instant, with shards and clocks as in a cluster.

Element-wise steps run in plain Python, groupings through ``flowalg_shard.step.step``. It is how the step is held to the
reference interpreter without Spark.
"""

from flowalg_shard.local.inputs import Recording
from flowalg_shard.local.run import Cluster, Dropped, Run, Waking, run

__all__ = ["Cluster", "Dropped", "Recording", "Run", "Waking", "run"]
