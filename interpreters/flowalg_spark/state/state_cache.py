"""What a Python worker keeps of the shards that it has served, so that it need not read them anew in every batch.

Spark may have a batch done again, by this worker or another one, and may throw a batch's work away. So what is kept
counts only under its *token*, which is drawn anew whenever a state is written and is written with it: a state that
Spark did not commit has a token that nobody asks for again. Nothing that is kept ever changes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final
from weakref import WeakValueDictionary

from attrs import define, field
from flowalg_shard import Segment, Stored

_VERSIONS: Final = 2
"""The last states of a shard that are kept: a batch that is done again starts from the last but one."""


@define
class Kept:
    """States by their tokens, those of a shard together, and the shard that was served last at the end."""

    shards: OrderedDict[str, list[tuple[str, Stored]]] = field(factory=OrderedDict)
    segments: WeakValueDictionary[str, Segment] = field(factory=WeakValueDictionary)

    def state(self, shard: str, token: str) -> Stored | None:
        """The state that was written with a token, if it is still there."""
        known = self.shards.get(shard, [])
        return next((stored for own, stored in known if own == token), None)

    def segment(self, name: str) -> Segment | None:
        """A segment of any state that is still there: one that was stored under a name is that one for ever."""
        return self.segments.get(name)

    def keep(self, shard: str, token: str, stored: Stored, limit: int) -> None:
        """Keep a state, and forget the shards that were served longest ago until all fit in ``limit`` bytes."""
        versions = [*self.shards.pop(shard, []), (token, stored)]
        self.shards[shard] = versions[-_VERSIONS:]
        for one in stored.memory.segments:
            self.segments[one.name] = one
        while self.shards and self.size > limit:
            self.shards.popitem(last=False)

    @property
    def size(self) -> int:
        """How many bytes the tables take that are kept."""
        held = {
            one.name: one.size
            for versions in self.shards.values()
            for _, stored in versions
            for one in stored.memory.segments
        }
        return sum(held.values())


KEPT: Final = Kept()
"""What this process keeps."""

__all__ = ["KEPT", "Kept"]
