"""A stopped query on Spark as data, from its checkpoint, and one of another engine in a new checkpoint.

The sources of a query on Spark have no names in its checkpoint, but an order, which is that of its plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import PurePosixPath
from typing import Final, Unpack, cast
from urllib.parse import quote, unquote, urlsplit

from attrs import evolve, frozen
from flowalg_kafka import KafkaInput
from flowalg_kafka.reader import id_of
from flowalg_shard import OperatorState
from flowalg_shard.stored_query import (
    FilesRead,
    MessagesRead,
    QueryStage,
    SourceRead,
    StoredQuery,
    cannot_be_moved,
    stopped_within,
)
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
from flowalg_spark.streaming.options import Options, StreamOptions
from flowalg_spark.streaming.shards import shard_ids

_USE: Final = "moving a query"
_RELATION: Final = re.compile(r"StreamingRelation(?:V2)? (.*)")
_FOLDER: Final = re.compile(r"FileSource\[(.*?)\](?:, \[|\n|$)")
_TOPIC: Final = re.compile(r"KafkaSourceProvider.*\bsubscribe=([\w.-]+)")

Outputs = PCollection[object] | Mapping[str, PCollection[object]]


@frozen
class _Sources:
    """What a query reads, in the order in which Spark logs it: the name of a source of files or messages.

    ``None`` stands for any other input, as that of ticks. A source that is read at several places is logged for each,
    and has one number. ``places`` has the folder or the topic of each source.
    """

    names: Sequence[str | None]
    numbers: Mapping[str, int]
    places: Mapping[str, str | KafkaInput]

    @classmethod
    def of(
        cls, checkpoint: str, outputs: Outputs, inputs: Mapping[AnySource, StreamInput], options: Options
    ) -> _Sources:
        """Returns the sources of a query; raises ``CheckpointError`` for one that cannot be moved."""
        roots = [pipeline.node for pipeline in require_outputs(outputs).values()]
        streams = inputs_by_name(inputs, "StreamInput(frame, watermark)", *roots)
        places = {name: _place_of(checkpoint, name, stream) for name, stream in streams.items()}
        names = {
            place.topic if isinstance(place, KafkaInput) else place: name for name, place in places.items()
        }
        if len(names) < len(places):
            raise CheckpointError(
                f"the query of the checkpoint {checkpoint} cannot be moved: two of its sources read one folder or topic"
            )
        compiled = compile_sources(outputs, stream_sources(outputs, inputs, options), options)
        relations = _relations(compiled)
        read = {relation: names.get(_read_in(relation) or "") for relation in relations}
        numbers = {name: number for number, name in enumerate(read.values()) if name is not None}
        return cls([read[relation] for relation in relations], numbers, places)


def _place_of(checkpoint: str, source: str, stream: StreamInput) -> str | KafkaInput:
    """Returns the folder or the topic that a source reads."""
    if isinstance(stream.data, KafkaInput):
        return stream.data
    folders: set[str] = set(_FOLDER.findall(_plan_of(stream.data)))
    if len(folders) != 1:
        raise cannot_be_moved(checkpoint, source, "another frame")
    return folders.pop()


def _relations(frame: DataFrame) -> list[str]:
    """Returns what the plan of a streaming frame reads, in the order in which Spark numbers it."""
    return _RELATION.findall(_plan_of(frame))


def _plan_of(frame: DataFrame) -> str:
    return str(cast("Java", frame._jdf).queryExecution().analyzed().toString())


def _read_in(relation: str) -> str | None:
    """Returns the folder or the name of the topic that a relation reads."""
    match = _FOLDER.match(relation) or _TOPIC.search(relation)
    return None if match is None else match.group(1)


def read_query(
    session: SparkSession,
    checkpoint: str | PathLike[str],
    outputs: Outputs,
    inputs: Mapping[AnySource, StreamInput],
    **options: Unpack[StreamOptions],
) -> StoredQuery:
    """Returns the stopped query in a checkpoint as data, for another engine (``write_query`` of it).

    ``outputs``, ``inputs`` and ``options`` are those that the query was compiled from. The sources must be folders of
    files, or topics as a ``KafkaInput``, which the other engine can read. The checkpoint is not changed; do not start
    the query from it any more.

    Raises ``CheckpointError`` for a checkpoint that is damaged, or has no micro-batch or no state yet, for other
    sources, and if the query was killed in a micro-batch: start it once more. Raises ``TopicError`` for a topic that
    does not exist, and over Spark Connect ``UnsupportedError``.
    """
    require_session("session", session)
    files = CheckpointFiles.of(session, path_text("checkpoint", checkpoint), _USE)
    check_checkpoint(session, files.folder)
    sources = _Sources.of(files.folder, outputs, inputs, Options(**options))
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
        _what_was_read(session, files.folder, sources, logs[batch]),
    )


def _what_was_read(
    session: SparkSession, checkpoint: str, sources: _Sources, log: str
) -> dict[str, SourceRead]:
    """Returns what each source has read, from the logs of files, and from the offsets of the last micro-batch."""
    _, _, *logged = log.rstrip("\n").split("\n")
    offsets = dict(zip(sources.names, logged, strict=False))
    return {
        name: _files_read(session, checkpoint, sources.numbers[name])
        if isinstance(place, str)
        else _messages_read(place, offsets[name])
        for name, place in sources.places.items()
    }


def _files_read(session: SparkSession, checkpoint: str, source: int) -> FilesRead:
    """Returns the names of the files that the source with a number has read."""
    names: dict[str, None] = {}
    for _, text in sorted(read_logs(session, checkpoint, f"sources/{source}").items()):
        for line in text.strip().split("\n")[1:]:
            entry = PurePosixPath(unquote(urlsplit(json.loads(line)["path"]).path))
            names[entry.name] = None
    return FilesRead(list(names))


def _messages_read(topic: KafkaInput, offset: str) -> MessagesRead:
    """Returns how far a source has read a topic, from the offset that Spark has logged."""
    offsets = {} if offset == _NO_OFFSET else json.loads(offset)[topic.topic]
    return MessagesRead(id_of(topic), {int(partition): following for partition, following in offsets.items()})


def write_query(
    session: SparkSession,
    query: StoredQuery,
    outputs: Outputs,
    inputs: Mapping[AnySource, StreamInput],
    into: str | PathLike[str],
    **options: Unpack[StreamOptions],
) -> None:
    """Writes a stopped query of another engine to a new checkpoint, from which Spark continues it.

    ``outputs``, ``inputs`` and ``options`` are those that it is compiled from on Spark, in a session with as many
    shuffle partitions as this one. It continues after the last micro-batch, with the same id, so sinks accept it.

    Raises ``ArgumentError`` for a folder that exists, and ``CheckpointError`` for another pipeline, for sources that
    are neither folders of files nor topics, and for a topic that was created again since. Raises ``TopicError`` for one
    that does not exist, and over Spark Connect ``UnsupportedError``.
    """
    require_session("session", session)
    files = CheckpointFiles.of(session, path_text("into", into), _USE)
    if files.exists():
        raise ArgumentError("into", files.folder, "a folder that does not exist yet")
    ensure_state_store(session)
    settings = Options(**options)
    sources = _Sources.of(files.folder, outputs, inputs, settings)
    query.require_sources(list(sources.places))
    ids = shard_ids(session, settings.shards)
    stages = [
        StageStates(described, dict(zip(ids, _at_batch_times(states), strict=True)))
        for described in stages_of_query(session, outputs, ids, dead_letters=settings.dead_letters)
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
    logged = {name: _write_read(files, name, query, sources) for name in sources.numbers}
    lines = [_NO_OFFSET if name is None else logged[name] for name in sources.names]
    version, metadata, *_ = offsets.split("\n")
    header = json.dumps({**json.loads(metadata), "batchTimestampMs": query.time // 1000})
    files.write(f"commits/{query.batch}", commit)
    # Spark reads the log before the last one too, and has no use for it.
    for batch in range(max(query.batch - 1, 0), query.batch + 1):
        files.write(f"offsets/{batch}", "\n".join([version, header, *lines]))
    files.write(f"{STARTS}/{query.generation}", "")
    files.write(f"{FINGERPRINTS}/{query.batch}", query.fingerprint)
    files.write("metadata", json.dumps({"id": query.query}))


def _write_read(files: CheckpointFiles, name: str, query: StoredQuery, sources: _Sources) -> str:
    """Writes the log of what a source has read, if there is one, and returns its offset."""
    match query.read[name], sources.places[name]:
        case FilesRead(names=names), str(folder) if names:
            base = folder if ":/" in folder else f"file://{quote(folder)}"
            entries = (
                json.dumps({"path": f"{base}/{quote(file)}", "timestamp": query.time // 1000, "batchId": 0})
                for file in names
            )
            files.write(f"sources/{sources.numbers[name]}/0", "\n".join(["v1", *entries]))
            return json.dumps({"logOffset": 0})
        case MessagesRead(topic=stored, offsets=offsets), KafkaInput() as topic if offsets:
            if stored != (now := id_of(topic)):
                raise CheckpointError(
                    f"source {name!r} has read the topic with the id {stored}, and the id of {topic.topic!r} at "
                    f"{topic.servers} is {now}; give the topic that the query has read"
                )
            return json.dumps(
                {topic.topic: {str(partition): offset for partition, offset in offsets.items()}}
            )
        case (FilesRead(), str()) | (MessagesRead(), KafkaInput()):
            return _NO_OFFSET
        case read, place:
            kind = "files" if isinstance(read, FilesRead) else "messages of Kafka"
            raise CheckpointError(f"source {name!r} has read {kind}, and its input is {place!r}")


_NO_OFFSET: Final = "-"
"""What Spark logs for a source that it has read nothing of."""
