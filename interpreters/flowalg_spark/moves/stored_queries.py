"""A stopped query on Spark as data, from its checkpoint, and one of another engine in a new checkpoint.

The sources of a query on Spark have no names in its checkpoint, but an order, which is that of its plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import PurePosixPath
from typing import Final, cast
from urllib.parse import quote, unquote, urlsplit

from attrs import evolve, frozen
from flowalg_shard import OperatorState
from flowalg_shard.stored_query import QueryStage, StoredQuery, stopped_within
from pyspark.sql import DataFrame, SparkSession

from flowalg.data.errors import ArgumentError, CheckpointError, path_text
from flowalg.data.time import ProcessingTime
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg_spark.changes.checkpoint_files import (
    FINGERPRINTS,
    STARTS,
    CheckpointFiles,
    fingerprint_of_offsets,
)
from flowalg_spark.changes.planning import stages_of_query
from flowalg_spark.changes.resharding import UNFINISHED, rename_snapshots
from flowalg_spark.changes.state_writing import StageStates, write_states
from flowalg_spark.jvm import Java
from flowalg_spark.session import ensure_state_store, require_session
from flowalg_spark.state.checkpoints import batch_of, check_checkpoint, read_logs
from flowalg_spark.state.open_state import count_stages, read_stage
from flowalg_spark.streaming.compilation import StreamInput, compile_sources, stream_sources
from flowalg_spark.streaming.options import Options
from flowalg_spark.streaming.shards import shard_ids

_USE: Final = "moving a query"
_RELATION: Final = re.compile(r"StreamingRelation(?:V2)? (.*)")
_FOLDER: Final = re.compile(r"FileSource\[(.*?)\](?:, \[|\n|$)")

Outputs = PCollection[object] | Mapping[str, PCollection[object]]


@frozen
class _Sources:
    """What a query reads, in the order in which Spark logs it: the name of a source that is a folder of files.

    ``None`` stands for any other input, as that of ticks. A source that is read at several places is logged for each,
    and has one number. ``folders`` has the folder of each source.
    """

    names: Sequence[str | None]
    numbers: Mapping[str, int]
    folders: Mapping[str, str]

    @classmethod
    def of(cls, outputs: Outputs, inputs: Mapping[AnySource, StreamInput]) -> _Sources:
        """Returns the sources of a query; raises ``CheckpointError`` for one that is not a folder of files."""
        roots = [pipeline.node for pipeline in require_outputs(outputs).values()]
        folders: dict[str, str] = {}
        for name, stream in inputs_by_name(inputs, "StreamInput(frame, watermark)", *roots).items():
            found = set(_FOLDER.findall(_plan_of(stream.frame)))
            if len(found) != 1:
                raise CheckpointError(
                    f"the query cannot be moved: source {name!r} is not a folder of files, and only these can be read "
                    "on either engine"
                )
            (folders[name],) = found
        names = {folder: name for name, folder in folders.items()}
        if len(names) < len(folders):
            raise CheckpointError("the query cannot be moved: two of its sources read one folder")
        options = Options()
        compiled = compile_sources(outputs, stream_sources(outputs, inputs, options), options)
        relations = _relations(compiled)
        read = {relation: names.get(_folder_of(relation) or "") for relation in relations}
        numbers = {name: number for number, name in enumerate(read.values()) if name is not None}
        return cls([read[relation] for relation in relations], numbers, folders)


def _relations(frame: DataFrame) -> list[str]:
    """Returns what the plan of a streaming frame reads, in the order in which Spark numbers it."""
    return _RELATION.findall(_plan_of(frame))


def _plan_of(frame: DataFrame) -> str:
    return str(cast("Java", frame._jdf).queryExecution().analyzed().toString())


def _folder_of(relation: str) -> str | None:
    match = _FOLDER.match(relation)
    return None if match is None else match.group(1)


def read_query(
    session: SparkSession,
    checkpoint: str | PathLike[str],
    outputs: Outputs,
    inputs: Mapping[AnySource, StreamInput],
) -> StoredQuery:
    """Returns the stopped query in a checkpoint as data, for another engine (``write_query`` of it).

    ``outputs`` and ``inputs`` are those that the query was compiled from. The sources must be folders of files, which
    the other engine can read. The checkpoint is not changed; do not start the query from it any more.

    Raises ``CheckpointError`` for a checkpoint that is damaged, or has no micro-batch or no state yet, for other
    sources, and if the query was killed in a micro-batch: start it once more. Over Spark Connect it raises
    ``UnsupportedError``.
    """
    require_session("session", session)
    files = CheckpointFiles.of(session, path_text("checkpoint", checkpoint), _USE)
    check_checkpoint(session, files.folder)
    sources = _Sources.of(outputs, inputs)
    commits = {batch_of(path) for path in read_logs(session, files.folder, "commits")}
    logs = {batch_of(path): text for path, text in read_logs(session, files.folder, "offsets").items()}
    if not commits:
        raise CheckpointError(f"the checkpoint {files.folder} has no micro-batch yet")
    batch = max(commits)
    if max(logs) > batch:
        raise stopped_within(files.folder, max(logs))
    stages: dict[str, QueryStage] = {}
    for number in range(count_stages(session, files.folder)):
        description, states = read_stage(session, files.folder, number)
        if description is not None:
            stages.setdefault(description.name, QueryStage(description, list(states.values())))
    if not stages:
        raise CheckpointError(f"the checkpoint {files.folder} has no state to move")
    identity = json.loads(files.read("metadata") or "{}")["id"]
    starts = [int(name) for name in files.names(STARTS) if name.isdigit()]
    known = files.read(f"{FINGERPRINTS}/{batch}")
    clocks = (state.input_clocks[0].clocks for stage in stages.values() for state in stage.states)
    return StoredQuery(
        identity,
        max(starts, default=0),
        batch,
        known or fingerprint_of_offsets(logs[batch]),
        ProcessingTime(max(clock.processing_time for clock in clocks)),
        stages,
        {name: _files_read(session, files.folder, number) for name, number in sources.numbers.items()},
    )


def _files_read(session: SparkSession, checkpoint: str, source: int) -> list[str]:
    """Returns the names of the files that the source with a number has read."""
    names: dict[str, None] = {}
    for _, text in sorted(read_logs(session, checkpoint, f"sources/{source}").items()):
        for line in text.strip().split("\n")[1:]:
            entry = PurePosixPath(unquote(urlsplit(json.loads(line)["path"]).path))
            names[entry.name] = None
    return list(names)


def write_query(
    session: SparkSession,
    query: StoredQuery,
    outputs: Outputs,
    inputs: Mapping[AnySource, StreamInput],
    into: str | PathLike[str],
    *,
    shards: int | None = None,
) -> None:
    """Writes a stopped query of another engine to a new checkpoint, from which Spark continues it.

    ``outputs``, ``inputs`` and ``shards`` are those that it is compiled from on Spark, in a session with as many
    shuffle partitions as this one. It continues after the last micro-batch, with the same id, so sinks accept it.

    Raises ``ArgumentError`` for a folder that exists, and ``CheckpointError`` for another pipeline and for sources
    that are not folders of files. Over Spark Connect it raises ``UnsupportedError``.
    """
    require_session("session", session)
    files = CheckpointFiles.of(session, path_text("into", into), _USE)
    if files.exists():
        raise ArgumentError("into", files.folder, "a folder that does not exist yet")
    ensure_state_store(session)
    sources = _Sources.of(outputs, inputs)
    query.require_sources(list(sources.folders))
    ids = shard_ids(session, shards)
    stages = [
        StageStates(described, dict(zip(ids, _at_batch_times(states), strict=True)))
        for described in stages_of_query(session, outputs, ids)
        for states in (query.stage(described.name).divided(described, ids),)
    ]
    if not stages:
        raise CheckpointError("the query has no state to move")
    try:
        write_states(session, files.folder, stages)
        _finish(session, files, query, sources)
    except BaseException:
        files.remove()
        raise


def _at_batch_times(states: Sequence[OperatorState]) -> list[OperatorState]:
    """Returns states whose clocks have a reading of the machine's clock, which the next micro-batch goes on from."""
    return [
        evolve(
            state,
            input_clocks=tuple(
                evolve(clocks, reading=clocks.reading or clocks.clocks.processing_time)
                for clocks in state.input_clocks
            ),
        )
        for state in states
    ]


def _finish(session: SparkSession, files: CheckpointFiles, query: StoredQuery, sources: _Sources) -> None:
    """Gives a checkpoint with the state of one micro-batch the logs of the query."""
    files.write("metadata", UNFINISHED)
    rename_snapshots(files, query.batch)
    (offsets,), (commit,) = (
        read_logs(session, files.folder, part).values() for part in ("offsets", "commits")
    )
    for part in ("offsets", "commits", "sources"):
        files.remove(part)
    offsets_of = {name: _write_files(files, name, query, sources) for name in sources.numbers}
    lines = [_NO_OFFSET if name is None else offsets_of[name] for name in sources.names]
    version, metadata, *_ = offsets.split("\n")
    header = json.dumps({**json.loads(metadata), "batchTimestampMs": query.time // 1000})
    files.write(f"commits/{query.batch}", commit)
    # Spark reads the log before the last one too, and has no use for it.
    for batch in range(max(query.batch - 1, 0), query.batch + 1):
        files.write(f"offsets/{batch}", "\n".join([version, header, *lines]))
    files.write(f"{STARTS}/{query.generation}", "")
    files.write(f"{FINGERPRINTS}/{query.batch}", query.fingerprint)
    files.write("metadata", json.dumps({"id": query.query}))


def _write_files(files: CheckpointFiles, name: str, query: StoredQuery, sources: _Sources) -> str:
    """Writes the log of the files that a source has read, and returns its offset."""
    if not query.files[name]:
        return _NO_OFFSET
    folder = sources.folders[name]
    base = folder if ":/" in folder else f"file://{quote(folder)}"
    entries = (
        json.dumps({"path": f"{base}/{quote(file)}", "timestamp": query.time // 1000, "batchId": 0})
        for file in query.files[name]
    )
    files.write(f"sources/{sources.numbers[name]}/0", "\n".join(["v1", *entries]))
    return json.dumps({"logOffset": 0})


_NO_OFFSET: Final = "-"
"""What Spark logs for a source that it has read nothing of."""
