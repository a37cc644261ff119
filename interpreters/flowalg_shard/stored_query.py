"""A stopped query as data, which no engine owns: the state of its stages, and what its sources have read.

So it can go on on another engine: one reads it from its checkpoint, and another one writes it to a new checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from flowalg.data.errors import CheckpointError
from flowalg.data.time import ProcessingTime
from flowalg_shard.operators import OperatorState
from flowalg_shard.resharding import reshard
from flowalg_shard.state.compatibility import StageDescription, require_unchanged


@frozen
class QueryStage:
    """The description of a stage, and the state of each of its shards."""

    description: StageDescription
    states: Sequence[OperatorState]

    def divided(self, now: StageDescription, shards: Sequence[int]) -> list[OperatorState]:
        """Returns the state in the shards with some ids, for the same stage of another engine.

        Raises ``CheckpointError`` if it is another stage.
        """
        # The engines number stages and shards in their own ways.
        before = evolve(self.description, inputs=None, shards=None, placement=None)
        require_unchanged(before, now)
        return reshard(self.states, shards)


@frozen
class StoredQuery:
    """A stopped query: its id, how often it was started, its last micro-batch and when that was.

    ``fingerprint`` is that of the last micro-batch, by which sinks know it. ``stages`` are by their names in the plan,
    and ``files`` has the names of the files that each source has read, without their folder.
    """

    query: str
    generation: int
    batch: int
    fingerprint: str
    time: ProcessingTime
    stages: Mapping[str, QueryStage]
    files: Mapping[str, Sequence[str]]

    def stage(self, name: str) -> QueryStage:
        """Returns the stage with a name; raises ``CheckpointError`` if there is none."""
        if name not in self.stages:
            raise CheckpointError(
                f"the checkpoint has no stage {name!r}, and the pipeline has it; move the query with the pipeline that "
                f"it ran with. Its stages are {', '.join(self.stages)}"
            )
        return self.stages[name]

    def require_sources(self, names: Sequence[str]) -> None:
        """Raises ``CheckpointError`` unless the query has read the sources with some names."""
        if set(names) != set(self.files):
            raise CheckpointError(
                f"the checkpoint has the sources {', '.join(sorted(self.files))}, and the pipeline "
                f"{', '.join(sorted(names))}; move the query with the pipeline that it ran with"
            )


def stopped_within(checkpoint: str, batch: int) -> CheckpointError:
    """Returns the error for a query that was stopped within a micro-batch, so that it cannot be moved."""
    return CheckpointError(
        f"the query of the checkpoint {checkpoint} was stopped in micro-batch {batch}, which its sinks may have; start "
        "it once more, and move it when it has ended"
    )
