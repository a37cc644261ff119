"""The shard step under its local engine, as the conformance suite calls it."""

from __future__ import annotations

from collections import Counter

from flowalg_laws.conformance import DropGroup, Outcome, Replay, Runner
from flowalg_shard.local import Cluster, MicroBatches, Waking, run

from flowalg import PCollection


def stepping(cluster: Cluster, waking: Waking = Waking.WITH_BATCHES) -> Runner:
    """The local engine, distributed over partitions and shards, with in-band clocks."""

    def stepped(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
        inputs = {
            feed.source: MicroBatches(
                feed.batches,
                feed.seen_at,
                feed.policy,
                None if feed.partition is None else feed.partition_of,
                feed.signals,
                replay.ends,
            )
            for feed in replay.feeds
        }
        found = run(pipeline, inputs, cluster=cluster, waking=waking)
        dropped: Counter[DropGroup] = Counter()
        for one in found.dropped:
            dropped[DropGroup(one.key, one.window, one.reason)] += one.count
        return Outcome(found.panes, dropped)

    return stepped
