"""Resharding: the state of a query on Spark, divided into another number of shards, in a new checkpoint.

The new checkpoint continues the old one: it has the same query id, the same offsets and the same micro-batches, so
sources go on where they were, and sinks recognise the micro-batches that they have. Only the state differs, and the
number of partitions in which Spark stores it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Final

from attrs import evolve
from flowalg_shard.resharding import count_misplaced
from flowalg_shard.resharding import reshard as reshard_stage
from pyspark.sql import SparkSession

from flowalg.data.errors import ArgumentError, CheckpointError, path_text
from flowalg.runs.placement import PLACEMENT
from flowalg_spark.changes.checkpoint_files import STARTS, CheckpointFiles
from flowalg_spark.changes.state_writing import StageStates, write_states
from flowalg_spark.session import ensure_state_store, require_session
from flowalg_spark.state.checkpoints import batch_of, check_checkpoint, read_logs
from flowalg_spark.state.open_state import count_stages, read_stage
from flowalg_spark.streaming.shards import shard_ids

UNFINISHED: Final = "flowalg has not finished this checkpoint; remove its folder\n"
_SNAPSHOT: Final = re.compile(r"1((?:_[^.]*)?\.zip(?:\.crc)?)")
"""The name of a snapshot of version 1, which may have an id, or of its checksum."""


def reshard(
    session: SparkSession,
    checkpoint: str | PathLike[str],
    into: str | PathLike[str],
    *,
    shards: int | None = None,
) -> None:
    """Divides the state in a query's checkpoint into another number of shards, in a new checkpoint.

    A query that starts from the folder ``into`` continues after the last micro-batch of the old one, with the same id,
    so sinks accept it. It must be compiled with the same ``shards``, in a session with as many shuffle partitions as
    this one; ``None`` is as many shards as there are shuffle partitions. This also changes the number of partitions in
    which Spark stores the state, which a checkpoint otherwise fixes. The old checkpoint is not changed; do not start a
    query from it any more, since the two would write the same micro-batches.

    The query must not run meanwhile. Reads the whole state into the driver's memory. The folders may be in any file
    system that Spark writes to.

    Raises ``ArgumentError`` for an invalid number and a folder ``into`` that exists, ``CheckpointError`` for a
    checkpoint that has no micro-batch yet, is damaged, or has a state of another version, and ``UnsupportedError`` over
    Spark Connect and for a session with another state store than RocksDB.

    Example::

        flowalg_spark.reshard(spark, "checkpoint", "checkpoint-8", shards=8)
        frame = streaming.compile(totals, {scores: stream}, shards=8)
        frame.writeStream.option("checkpointLocation", "checkpoint-8").start("panes")
    """
    require_session("session", session)
    ids = shard_ids(session, shards)
    old, new = (
        CheckpointFiles.of(session, path_text(argument, folder), "reshard")
        for argument, folder in (("checkpoint", checkpoint), ("into", into))
    )
    if new.exists():
        raise ArgumentError("into", new.folder, "a folder that does not exist yet")
    ensure_state_store(session)
    check_checkpoint(session, old.folder)
    commits = read_logs(session, old.folder, "commits")
    if not commits:
        raise CheckpointError(
            f"the checkpoint {old.folder} has no micro-batch yet; start the query with the new number of shards"
        )
    stages = [
        _divide(session, old.folder, number, ids) for number in range(count_stages(session, old.folder))
    ]
    if not stages:
        raise CheckpointError(f"the checkpoint {old.folder} has no state to reshard")
    try:
        write_states(session, new.folder, stages)
        _continue(session, old, new, max(commits.items(), key=lambda log: batch_of(log[0])))
    except BaseException:
        new.remove()
        raise


def _divide(session: SparkSession, checkpoint: str, number: int, ids: Sequence[int]) -> StageStates:
    """Returns the state of a stage in the shards ``ids``.

    Raises ``CheckpointError`` if keys are not in the shards of their hash. If another hash has placed them, they are
    only placed again.
    """
    stage, before = read_stage(session, checkpoint, number)
    if stage is None:
        raise CheckpointError(f"stage {number} of the checkpoint {checkpoint} has no state")
    misplaced = count_misplaced(before) if stage.placement == PLACEMENT else 0
    if misplaced:
        raise CheckpointError(
            f"the state of stage {stage.label!r} in the checkpoint {checkpoint} is damaged: {misplaced} keys are not "
            "in the shards of their hash; restore the checkpoint, or start the query with a new one"
        )
    after = reshard_stage(list(before.values()), ids)
    described = evolve(stage, shards=tuple(ids), placement=PLACEMENT)
    return StageStates(described, dict(zip(ids, after, strict=True)))


def _continue(
    session: SparkSession, old: CheckpointFiles, new: CheckpointFiles, last: tuple[str, str]
) -> None:
    """Gives the new checkpoint the logs of the old one; ``last`` is the path and text of its last commit."""
    path, commit = last
    batch = batch_of(path)
    new.write("metadata", UNFINISHED)
    rename_snapshots(new, batch)
    offsets, commits = (read_logs(session, new.folder, part) for part in ("offsets", "commits"))
    for part in ("offsets", "commits", "sources"):
        new.remove(part)
    for part in ("commits", "sources", STARTS.partition("/")[0]):
        old.copy(part, new)
    new.write(f"commits/{batch}", _with_watermark(_only(commits), commit))
    for path, text in read_logs(session, old.folder, "offsets").items():
        new.write(f"offsets/{batch_of(path)}", _with_settings(text, _only(offsets)))
    old.copy("metadata", new)


def rename_snapshots(new: CheckpointFiles, batch: int) -> None:
    """Renames the snapshots of the state stores from version 1 to the version after a micro-batch."""
    for path in new.below("state", 3) if batch else ():
        snapshot = _SNAPSHOT.fullmatch(path.rpartition("/")[2])
        if snapshot is not None:
            new.rename(path, f"{batch + 1}{snapshot.group(1)}")


def _only(logs: Mapping[str, str]) -> str:
    """Returns the text of the only log."""
    (text,) = logs.values()
    return text


def _with_watermark(commit: str, other: str) -> str:
    """Returns a log of a commit, which may name the snapshots, with the watermark of another one."""
    version, line = commit.rstrip("\n").split("\n")
    watermark = json.loads(other.split("\n")[1])["nextBatchWatermarkMs"]
    return f"{version}\n{json.dumps({**json.loads(line), 'nextBatchWatermarkMs': watermark})}"


def _with_settings(offsets: str, other: str) -> str:
    """Returns a log of offsets with the settings of Spark of another one: those that the state was written with."""
    version, metadata, *sources = offsets.split("\n")
    fields = json.loads(metadata)
    fields["conf"] |= json.loads(other.split("\n")[1])["conf"]
    return "\n".join([version, json.dumps(fields), *sources])
