"""A stopped query as data, which no engine owns: the state of its stages, and what its sources have read.

So it can go on on another engine: one reads it from its checkpoint, and another one writes it to a new checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

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
class FilesRead:
    """The names of the files that a source has read, without their folder."""

    names: Sequence[str]


@frozen
class MessagesRead:
    """How far a source has read a topic of Kafka: the topic's id, and the next offset of each partition.

    There are no offsets if the query has not begun to read the topic.
    """

    topic: str
    offsets: Mapping[int, int]


SourceRead: TypeAlias = FilesRead | MessagesRead
"""What a source has read, of what both engines can read."""


@frozen
class StoredQuery:
    """A stopped query: its id, how often it was started, its last micro-batch and when that was.

    ``fingerprint`` is that of the last micro-batch, by which sinks know it. ``stages`` are by their names in the plan,
    and ``read`` says what each source has read.
    """

    query: str
    generation: int
    batch: int
    fingerprint: str
    time: ProcessingTime
    stages: Mapping[str, QueryStage]
    read: Mapping[str, SourceRead]

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
        if set(names) != set(self.read):
            raise CheckpointError(
                f"the checkpoint has the sources {', '.join(sorted(self.read))}, and the pipeline "
                f"{', '.join(sorted(names))}; move the query with the pipeline that it ran with"
            )


def cannot_be_moved(checkpoint: str, source: str, reads: str) -> CheckpointError:
    """Returns the error for a query with a source that only one of the engines can read."""
    return CheckpointError(
        f"the query of the checkpoint {checkpoint} cannot be moved: source {source!r} reads {reads}, and only folders "
        "of files and topics of Kafka can be read on either engine"
    )


def stopped_within(checkpoint: str, batch: int) -> CheckpointError:
    """Returns the error for a query that was stopped within a micro-batch, so that it cannot be moved."""
    return CheckpointError(
        f"the query of the checkpoint {checkpoint} was stopped in micro-batch {batch}, which its sinks may have; start "
        "it once more, and move it when it has ended"
    )
