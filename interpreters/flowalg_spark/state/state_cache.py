"""The cache of shard states in a Python worker, so that a micro-batch need not read them from the state store.

Spark may run a task again, on this worker or another one, and may discard what a task has written. So a cached state
is identified by a *token*: each write draws a new token and stores it with the state. A state that Spark did not commit
has a token that no later task reads from the store. Cached states are immutable.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final
from weakref import WeakValueDictionary

from attrs import define, field
from flowalg_shard import OperatorState, Segment

_VERSIONS: Final = 2
"""The states cached for each shard: a micro-batch that is run again starts from the one before the last."""


@define
class StateCache:
    """States by shard and token, with the most recently used shard last."""

    shards: OrderedDict[str, list[tuple[str, OperatorState]]] = field(factory=OrderedDict)
    segments: WeakValueDictionary[str, Segment] = field(factory=WeakValueDictionary)

    def state(self, shard: str, token: str) -> OperatorState | None:
        """Returns the state that was written with a token, if it is cached."""
        versions = self.shards.get(shard, [])
        return next((stored for written_with, stored in versions if written_with == token), None)

    def segment(self, name: str) -> Segment | None:
        """Returns a segment of any cached state. A name never identifies another segment."""
        return self.segments.get(name)

    def put(self, shard: str, token: str, stored: OperatorState, limit: int) -> None:
        """Caches a state, and evicts the least recently used shards until the cache fits in ``limit`` bytes."""
        versions = [*self.shards.pop(shard, []), (token, stored)]
        self.shards[shard] = versions[-_VERSIONS:]
        for segment in stored.windows.segments:
            self.segments[segment.name] = segment
        while self.shards and self.size > limit:
            self.shards.popitem(last=False)

    @property
    def size(self) -> int:
        """The size of the cached segments in bytes; states share segments."""
        sizes = {
            segment.name: segment.size
            for versions in self.shards.values()
            for _, stored in versions
            for segment in stored.windows.segments
        }
        return sum(sizes.values())


WORKER_CACHE: Final = StateCache()
"""The cache of this process."""
