"""A stopped query of the local engine as data, from its checkpoint, and one of another engine in a new checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from attrs import evolve
from flowalg_kafka.reader import Offsets, offsets_of
from flowalg_shard import OperatorState, StageDescription
from flowalg_shard.clocks.exchange import FromSource
from flowalg_shard.operators import pack_side, unpack_side
from flowalg_shard.step.side_inputs import READ_START
from flowalg_shard.stored_query import (
    FilesRead,
    MessagesRead,
    QueryStage,
    SourceRead,
    StoredQuery,
    cannot_be_moved,
    stopped_within,
)

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan.plan import plan_stream
from flowalg.watermarks import Perfect
from flowalg_polars.capabilities import STREAM_REQUIREMENTS
from flowalg_polars.streaming.graph import Graph
from flowalg_polars.streaming.operators import NUMBER, Cluster
from flowalg_polars.streaming.options import require_shards
from flowalg_polars.streaming.reading import positions
from flowalg_polars.streaming.reading.positions import Position
from flowalg_polars.streaming.storage.checkpoint import Checkpoint, Intent
from flowalg_polars.streaming.storage.location import CheckpointLocation


def read_query(checkpoint: CheckpointLocation) -> StoredQuery:
    """Returns the stopped query in a checkpoint as data, for another engine (``write_query`` of it).

    Its sources must be folders of files or topics of Kafka, which the other engine can read. The checkpoint is not
    changed; do not start the query from it any more. Raises ``CheckpointError`` for a folder without a checkpoint, one
    that is damaged or has no micro-batch yet, for other sources, and if the query was killed in a micro-batch: start it
    once more.
    """
    opened = Checkpoint.read(checkpoint)
    manifest, begun = opened.manifest, opened.intent
    assert manifest is not None, "a checkpoint that was read has a manifest"
    if begun is not None:
        raise stopped_within(opened.folder, begun.batch)
    done = manifest.intent
    read = {name: _read_by(opened, name, done) for name in done.positions}
    stages = {
        stage.description.name: QueryStage(
            stage.description, [_without_numbers(opened.restore(shard)) for shard in stage.shards]
        )
        for stage in manifest.stages
        if stage.description.name
    }
    generation = opened.identity.generation
    return StoredQuery(done.query, generation, done.batch, done.fingerprint, done.time, stages, read)


def _read_by(opened: Checkpoint, source: str, done: Intent) -> SourceRead:
    match done.kinds[source]:
        case positions.FILES:
            return FilesRead([file for file, _ in opened.files(source).files()])
        case positions.MESSAGES:
            position = done.positions[source]
            if not position:
                return MessagesRead("", {})
            offsets = offsets_of(position)
            return MessagesRead(offsets.topic, offsets.next)
        case kind:
            raise cannot_be_moved(opened.folder, source, kind)


def write_query(
    query: StoredQuery,
    pipeline: PCollection[object] | Mapping[str, PCollection[object]],
    into: CheckpointLocation,
    *,
    shards: int = 1,
    dead_letters: bool = False,
) -> None:
    """Writes a stopped query of another engine to a new checkpoint, from which the local engine continues it.

    ``pipeline`` is that of the query, or its named outputs, and ``dead_letters`` as in ``run``. It continues with this
    number of shards, after the last micro-batch, with the same id, so sinks accept it. Raises ``ArgumentError`` for an
    invalid number and for a place that has a checkpoint, and ``CheckpointError`` for another pipeline.
    """
    planned = plan_stream(require_outputs(pipeline), dead_letters=dead_letters)
    query.require_sources(list(planned.sources))
    upstreams = {name: FromSource(Perfect(), name) for name in planned.sources}
    graph, _ = Graph.compile(planned, upstreams, Cluster(shards=require_shards(shards)), STREAM_REQUIREMENTS)
    stages: list[tuple[StageDescription, list[OperatorState]]] = []
    for name, stage in zip(graph.names, graph.stages, strict=True):
        described = evolve(stage.description, name=name)
        # An output of elements has only clocks, which follow from what it reads.
        states = query.stage(name).divided(described, range(shards)) if name else stage.states
        stages.append((described, _with_numbers(states)))
    places = {name: _position_after(read) for name, read in query.read.items()}
    intent = Intent(
        query.query,
        query.batch,
        query.time,
        {name: position for name, (_, position) in places.items()},
        kinds={name: kind for name, (kind, _) in places.items()},
        known=query.fingerprint,
    )
    with Checkpoint.open(into) as opened:
        if opened.manifest is not None or opened.intent is not None:
            raise ArgumentError("into", opened.folder, "a place without a checkpoint")
        opened.continue_from(query.generation, intent, stages)


def _position_after(read: SourceRead) -> tuple[str, Position]:
    """Returns what the position of a source counts, and the position."""
    match read:
        case FilesRead(names=names):
            return positions.FILES, (len(names), *((name, None) for name in names))
        case MessagesRead(topic=topic, offsets=offsets):
            position = Offsets(topic, offsets, offsets).position if offsets else positions.START
            return positions.MESSAGES, position


def _without_numbers(state: OperatorState) -> OperatorState:
    """Returns a state whose waiting elements are in order, without the numbers that only this engine gives them."""
    side = unpack_side(state)
    if side.waiting.is_empty():
        return state
    waiting = side.waiting.sort(NUMBER).drop(NUMBER)
    return evolve(state, side_input=pack_side(evolve(side, waiting=waiting)))


def _with_numbers(states: Sequence[OperatorState]) -> list[OperatorState]:
    """Returns states whose waiting elements have numbers."""
    numbered, first = list[OperatorState](), 0
    for state in states:
        side = unpack_side(state)
        if not side.waiting.is_empty():
            numbers = pl.int_range(first, first + side.waiting.height, dtype=pl.Int64(), eager=True)
            place = side.waiting.columns.index(READ_START)
            waiting = side.waiting.insert_column(place, numbers.alias(NUMBER))
            first += waiting.height
            state = evolve(state, side_input=pack_side(evolve(side, waiting=waiting)))
        numbered.append(state)
    return numbered
