"""A streaming query: reads micro-batches, advances the pipeline by one instant for each, and commits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar, overload

import polars as pl
from attrs import define, evolve, field, frozen
from flowalg_columns.checks.streams import ticks_with_times
from flowalg_columns.notes import LiftingNote, report_functions
from flowalg_shard.clocks.steady_clock import SteadyClock
from flowalg_sinks import PaneSink, SinkBatch, WrittenBatch

from flowalg.data.errors import ArgumentError, CheckpointError
from flowalg.data.shapes import Shape
from flowalg.data.time import (
    MAX_TIME,
    MIN_TIME,
    EventTime,
    ProcessingTime,
    processing_time,
)
from flowalg.pipeline.outputs import emits_panes, output_name
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan.plan import plan_stream
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.clocks import BEGINNING
from flowalg.runs.events import (
    QueryAdvanced,
    QueryEnded,
    QueryEvent,
    QueryStarted,
    call_observers,
)
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.metrics import QueryProgress, SourceMetrics, StageMetrics
from flowalg.runs.output import Output, OutputElement
from flowalg.runs.panes import Drop, Pane
from flowalg_polars.capabilities import STREAM_REQUIREMENTS
from flowalg_polars.errors import raise_causes
from flowalg_polars.frames.pane_frame import read_output, shown_columns
from flowalg_polars.streaming.drops import DropFields, StageDrops
from flowalg_polars.streaming.graph import Graph, OutputOperator
from flowalg_polars.streaming.operators import Cluster
from flowalg_polars.streaming.options import Options
from flowalg_polars.streaming.reading.bad_records import BadRecords, drop_fields
from flowalg_polars.streaming.reading.inputs import StreamInput, named_columns
from flowalg_polars.streaming.reading.positions import START, Position
from flowalg_polars.streaming.reading.readers import FileReader, Reader, reader_of
from flowalg_polars.streaming.reading.recorded import Recording
from flowalg_polars.streaming.sources import StreamSource
from flowalg_polars.streaming.storage.checkpoint import Checkpoint, Intent, new_query_id

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)

_LOG: Final = logging.getLogger("flowalg.streaming")


@frozen
class MicroBatch(Generic[A_co]):
    """What an output of a pipeline gives in one micro-batch.

    ``rows`` has the leaves of elements and the metadata of panes, or both times of elements; ``frame`` the columns that
    users see. ``dropped`` are the drops of the stages before the output, with ``late_data`` each a ``DroppedElement``,
    and ``dropped_count`` the number of their elements. ``bad_records`` are the records on which a step of the query
    failed, with ``dead_letters``. ``metrics`` has one entry for each stage, in the order of the pipeline, and
    ``sources`` one for each source that flows into a stage; both are empty without ``metrics=True``. An output of
    elements counts as a stage.
    """

    pipeline: PCollection[A_co]
    number: int
    query: str
    _generation: int = field(repr=False)
    _intent: Intent = field(repr=False)
    processing_time: ProcessingTime
    rows: pl.DataFrame
    _stage_drops: tuple[StageDrops, ...] = field(repr=False)
    bad_records: tuple[BadRecord, ...]
    metrics: tuple[StageMetrics, ...]
    sources: tuple[SourceMetrics, ...]
    shape: Shape
    _late_data: bool = field(repr=False)

    @property
    def frame(self) -> pl.DataFrame:
        """The output as a frame, with the columns of ``flowalg_polars.batch.compile``. Panes are in order."""
        return self.rows.select(shown_columns(self.shape, panes=emits_panes(self.pipeline.node)))

    @property
    def output(self) -> Output[A_co]:
        """The output as values, in order."""
        return read_output(self.pipeline, self.rows)

    @property
    def panes(self) -> tuple[Pane[A_co], ...]:
        """The panes as values, in order; empty if the pipeline groups nothing."""
        return self.output.panes

    @property
    def elements(self) -> tuple[OutputElement[A_co], ...]:
        """The elements as values, in order, if the pipeline groups nothing."""
        return self.output.elements

    @property
    def dropped(self) -> tuple[Drop, ...]:
        """The drops of all stages as values."""
        return tuple(drop for drops in self._stage_drops for drop in drops.values())

    @property
    def dropped_count(self) -> int:
        """The number of elements that all stages dropped."""
        return sum(drops.count for drops in self._stage_drops)

    @property
    def drop_fields(self) -> tuple[DropFields, ...]:
        """The drops of all stages as sinks store them.

        Each is for one key and window: ``drop`` with the stage, reason, count, key and combined value (both as JSON)
        and clocks, and the ``start`` and ``end`` of its window. With ``late_data`` each is for one element, which is
        the value, and ``drop`` has its ``event_time``, ``change`` and ``input``.
        """
        return tuple(fields for drops in self._stage_drops for fields in drops.fields())

    def progress(self, seconds: float) -> QueryProgress:
        """Returns the progress of the query in this micro-batch, which took so many ``seconds``; needs metrics."""
        return QueryProgress(
            batch=self.number,
            processing_time=self.processing_time.datetime,
            seconds=seconds,
            bad_records=len(self.bad_records),
            stages=self.metrics,
            sources=tuple(sorted(self.sources, key=lambda source: source.source)),
        )

    def write_to(self, sink: PaneSink) -> bool:
        """Writes the panes, drops and bad records to a sink, and returns whether it did not have them already."""
        now = self.processing_time.datetime
        bad: list[DropFields] = [
            {"drop": drop_fields(record, now), "start": None, "end": None} for record in self.bad_records
        ]
        output: SinkBatch[object] = SinkBatch(
            self.output, (*self.drop_fields, *bad), late_data=self._late_data
        )
        intent = self._intent
        written = WrittenBatch(self.query, self.number, self._generation, intent.fingerprint)
        return sink.write(output, written, after=intent.after)


@frozen
class MicroBatches:
    """What several outputs of one query give in one micro-batch, by the name or the collection of an output.

    ``dropped`` are the drops of all stages, each once, however many outputs read it.
    """

    by_name: Mapping[str, MicroBatch[object]]
    _stage_drops: tuple[StageDrops, ...] = field(repr=False)

    @property
    def dropped(self) -> tuple[Drop, ...]:
        """The drops of all stages as values."""
        return tuple(drop for drops in self._stage_drops for drop in drops.values())

    @overload
    def __getitem__(self, which: str) -> MicroBatch[object]: ...
    @overload
    def __getitem__(self, which: PCollection[A]) -> MicroBatch[A]: ...
    def __getitem__(self, which: str | PCollection[object]) -> MicroBatch[object]:
        collections = {name: batch.pipeline for name, batch in self.by_name.items()}
        return self.by_name[output_name(collections, which)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)


@define
class Query:
    """A compiled query, between micro-batches."""

    outputs: Mapping[str, PCollection[object]]
    options: Options
    sources: Mapping[str, StreamSource]
    readers: Mapping[str, Reader]
    graph: Graph
    operators: Mapping[str, OutputOperator]
    bad_records: BadRecords | None
    positions: dict[str, Position]
    recording: Recording | None = None
    id: str = field(factory=new_query_id)
    generation: int = 1
    number: int = 0
    last: str | None = None
    begun: Intent | None = None
    clock: SteadyClock = field(factory=lambda: SteadyClock(BEGINNING.processing_time))
    time: ProcessingTime = BEGINNING.processing_time
    ticks: bool = False
    ended: bool = False
    closed: bool = False
    _failure: BaseException | None = field(default=None, init=False)
    changed_files: Mapping[str, Sequence[str]] = field(factory=dict)

    @classmethod
    def compile(
        cls,
        outputs: Mapping[str, PCollection[object]],
        inputs: Mapping[AnySource, StreamInput],
        options: Options,
        recording: Recording | None = None,
    ) -> Query:
        """Compiles named outputs over streams, or over the ``recording`` of streams that are replayed."""
        plan = plan_stream(outputs, dead_letters=options.dead_letters)
        streams = inputs_by_name(inputs, "StreamInput(data, watermark)", *plan.roots)
        for name, stream in streams.items():
            if not isinstance(stream, StreamInput):
                raise ArgumentError(f"the input of source {name!r}", stream, "a StreamInput")
            if options.tick_when_idle and stream.processing_time is not None:
                raise ticks_with_times(name)
        bad = BadRecords() if options.dead_letters else None
        replays = recording is not None
        sources = {
            name: StreamSource(read.source, streams[name], bad, recorded=replays)
            for name, read in plan.sources.items()
        }
        upstreams = {name: source.upstream for name, source in sources.items()}
        cluster = Cluster(shards=options.shards)
        observed = {
            name: stream.watermark for name, stream in streams.items() if stream.source_watermark is None
        }
        requirements = evolve(STREAM_REQUIREMENTS, lateness=not replays, observed=observed)
        graph, operators = Graph.compile(
            plan, upstreams, cluster, requirements, bad_records=bad, late_data=options.late_data
        )
        report_functions(graph.notes, require_lifted=options.require_lifted)
        readers = {
            name: reader_of(source.node, source.stream.data, named_columns(source.stream))
            if recording is None
            else recording.reader(name)
            for name, source in sources.items()
        }
        positions = dict.fromkeys(sources, START)
        return cls(
            dict(outputs),
            options,
            sources,
            readers,
            graph,
            operators,
            bad,
            positions,
            recording,
            ticks=options.ticks(plan.roots, streams),
        )

    @property
    def notes(self) -> tuple[LiftingNote, ...]:
        """How each user-defined function runs."""
        return tuple(self.graph.notes)

    def run(self) -> Generator[MicroBatches, None, None]:
        """Yields the output of each micro-batch. It is committed when the next one is asked for."""
        place = self.options.checkpoint
        opened: AbstractContextManager[Checkpoint | None] = (
            nullcontext(None) if place is None else Checkpoint.open(place)
        )
        with opened as checkpoint, self.closing_readers():
            if checkpoint is not None:
                self.id, self.generation = checkpoint.identity.query, checkpoint.identity.generation
                self.restore(checkpoint)
            with self.reported():
                while not self.ended:
                    intent = self.next_intent(checkpoint)
                    if intent is None:
                        if not self.options.follow:
                            return
                        time.sleep(self.pause())
                        continue
                    started = time.perf_counter()
                    if checkpoint is not None:
                        checkpoint.begin(intent)
                    with raise_causes():
                        batch = self.advance(intent)
                    try:
                        yield batch
                    except GeneratorExit:
                        self.closed = True
                        raise
                    if checkpoint is not None:
                        self.commit(checkpoint, intent)
                    if self.options.observers:
                        output = next(iter(batch.by_name.values()))
                        progress = output.progress(time.perf_counter() - started)
                        self.report(QueryAdvanced(self.name, datetime.now(UTC), progress))

    def commit(self, checkpoint: Checkpoint, intent: Intent) -> None:
        """Commits a micro-batch; the readers forget the files that the checkpoint has forgotten."""
        readers = {name: reader for name, reader in self.readers.items() if isinstance(reader, FileReader)}
        folders = {name: reader.folder for name, reader in readers.items()}
        forgotten = checkpoint.commit(intent, self.graph.stored(), self.changed_files, folders)
        for name, reader in readers.items():
            reader.forget(forgotten[name])

    def run_to_end(self, write: Callable[[MicroBatches], None]) -> None:
        """Runs the query and calls a function with each micro-batch. What that raises is why the query ends."""
        micro_batches = self.run()
        try:
            for batch in micro_batches:
                write(batch)
        except BaseException as failure:
            self._failure = failure
            micro_batches.close()
            self._failure = None  # its traceback has this frame
            raise

    @property
    def name(self) -> str:
        """The name of the query in its events."""
        return self.id if self.options.name is None else self.options.name

    def report(self, event: QueryEvent) -> None:
        """Calls the observers with an event."""
        call_observers(self.options.observers, event)

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Reports the start of the query, and its end with its error.

        A query that is closed has ended, unless a failure to write a micro-batch is why.
        """
        failure: BaseException | None = None
        try:
            self.report(QueryStarted(self.name, datetime.now(UTC)))
            yield
        except BaseException as raised:  # a panic of Polars and Ctrl-C are no ``Exception``
            failure = self._failure if self.closed else raised
            raise
        finally:
            error = None if failure is None else f"{type(failure).__name__}: {failure}"
            try:
                self.report(QueryEnded(self.name, datetime.now(UTC), error))
            except Exception as raised:
                if failure is None:
                    raise
                failure.add_note(
                    f"An observer of the end of the query raised {type(raised).__name__}: {raised}"
                )
            del failure  # its traceback has this frame

    @contextmanager
    def closing_readers(self) -> Iterator[None]:
        """Closes the readers at the end of the query."""
        try:
            yield
        finally:
            for reader in self.readers.values():
                reader.close()

    def next_intent(self, checkpoint: Checkpoint | None) -> Intent | None:
        """Returns what the next micro-batch reads; ``None`` if there is nothing to do now."""
        if self.begun is not None:
            begun, self.begun = self.begun, None
            return begun
        positions = dict(self.positions)
        has_input = False
        available = {
            name: following
            for name, reader in self.readers.items()
            if (following := reader.available(positions[name])) is not None
        }
        for name in self.aligned(available.keys()):
            positions[name], has_input = available[name].position, True
        drains = self.options.drain or (checkpoint is not None and checkpoint.drain_requested)
        ends = drains and not has_input
        due = has_input or ends
        if not due and not self.ticks:
            return None  # before the clock is read: a replay has no instant after its last one
        now = self.now()
        if not due and now < self.next_tick:
            return None
        kinds = {name: reader.kind for name, reader in self.readers.items()}
        return Intent(self.id, self.number, max(self.time, now), positions, ends, kinds, self.last)

    @property
    def next_tick(self) -> ProcessingTime:
        """When the next micro-batch is due without data: at the next deadline that the state knows, or after a tick."""
        assert self.options.tick is not None, "the query ticks"
        after_tick = ProcessingTime(self.time + self.options.tick // timedelta(microseconds=1))
        deadline = self.graph.next_deadline()
        # A deadline that has passed was evaluated: its trigger waits for something else, too.
        return after_tick if deadline is None or deadline <= self.time else min(deadline, after_tick)

    def pause(self) -> float:
        """Returns the seconds until the query looks for data again, or a micro-batch is due without."""
        interval = self.options.interval.total_seconds()
        if not self.ticks:
            return interval
        return min(interval, max((self.next_tick - self.clock.time) / 1_000_000, 0.001))

    def now(self) -> ProcessingTime:
        """Returns the processing time of the next micro-batch: the clock's, or in a replay the recorded one."""
        if self.recording is not None:
            return self.recording.instants[self.number].processing_time
        before, self.clock = self.clock, self.clock.read(processing_time(datetime.now(UTC)))
        if (warning := self.clock.warning(before)) is not None:
            _LOG.warning("query %s: %s", self.name, warning)
        return self.clock.time

    def aligned(self, available: Set[str]) -> frozenset[str]:
        """Returns the sources with available data that may be read: with ``max_skew``, those not too far ahead.

        The slowest source is one that has data, or that is waited for: with ``follow``, one that has not ended and is
        not idle.
        """
        if self.options.max_skew is None:
            return frozenset(available)
        now = self.now()
        progress: dict[str, EventTime] = {}
        slowest = MAX_TIME
        for name, (policy, clock) in self.graph.source_clocks().items():
            progress[name] = clock.watermark
            idle_at = policy.idle_at(clock)
            awaited = self.options.follow and (idle_at is None or now < idle_at)
            if name in available or awaited:
                slowest = min(slowest, clock.watermark)
        furthest = slowest + self.options.max_skew // timedelta(microseconds=1)
        return frozenset(name for name in available if progress.get(name, MIN_TIME) <= furthest)

    def advance(self, intent: Intent) -> MicroBatches:
        """Reads what an intent says, and advances the pipeline by one instant."""
        arrivals = {}
        for name, source in self.sources.items():
            before, after = self.positions[name], intent.positions[name]
            read = None if before == after else self.readers[name].read(before, after, self.bad_records)
            ended = intent.ended or self.readers[name].has_ended(after)
            arrivals[name] = source.arrival(read, intent.time, ended=ended)
        rows = {name: operator.run(arrivals).frame.collect() for name, operator in self.operators.items()}
        self.positions, self.time = dict(intent.positions), intent.time
        self.number, self.last = intent.batch + 1, intent.fingerprint
        self.ended = intent.ended or all(
            reader.has_ended(self.positions[name]) for name, reader in self.readers.items()
        )
        bad = () if self.bad_records is None else self.bad_records.take()
        self.changed_files = {
            name: reader.changed_files()
            for name, reader in self.readers.items()
            if isinstance(reader, FileReader)
        }
        metrics = self.graph.metrics() if self.options.measures else ()
        sources = self._source_metrics() if self.options.measures else ()
        return MicroBatches(
            {
                name: MicroBatch(
                    self.outputs[name],
                    intent.batch,
                    self.id,
                    self.generation,
                    intent,
                    self.graph.processing_time,
                    rows[name],
                    self.graph.drops(operator.stages),
                    bad,
                    metrics,
                    sources,
                    operator.shape,
                    self.options.late_data,
                )
                for name, operator in self.operators.items()
            },
            self.graph.drops(),
        )

    def _source_metrics(self) -> tuple[SourceMetrics, ...]:
        """Returns the metrics of the sources, with the files that their readers have found changed."""
        return tuple(
            evolve(metrics, changed_files=len(self.changed_files.get(metrics.source, ())))
            for metrics in self.graph.source_metrics()
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continues from a checkpoint; raises ``CheckpointError`` if the pipeline or its input is another one."""
        self.begun, manifest = checkpoint.intent, checkpoint.manifest
        if manifest is not None:
            self.graph.restore(checkpoint)
            done = manifest.intent
            self.number, self.last = done.batch + 1, done.fingerprint
            self.positions, self.time = dict(done.positions), done.time
            self.clock = SteadyClock(done.time)
            self.ended = done.ended or all(
                reader.has_ended(self.positions[name]) for name, reader in self.readers.items()
            )
        for intent in (None if manifest is None else manifest.intent, self.begun):
            if intent is not None:
                self.require_same_sources(checkpoint.folder, intent)
        for name, reader in self.readers.items():
            begun = None if self.begun is None else self.begun.positions[name]
            reader.resume(checkpoint.files(name).files(), begun)
            unread = reader.unread(self.positions[name]) if self.ended else None
            if unread is not None:
                raise CheckpointError(
                    f"the checkpoint {checkpoint.folder} has ended the input of source {name!r}, after micro-batch "
                    f"{self.number - 1}, and the source has {unread}, which the query would never read; start the "
                    "query with a new checkpoint"
                )

    def require_same_sources(self, folder: str, intent: Intent) -> None:
        """Raises ``CheckpointError`` unless the positions of an intent are those of the inputs of this query."""
        if set(intent.positions) != set(self.readers):
            raise CheckpointError(
                f"the checkpoint {folder} has the sources {', '.join(sorted(intent.positions))}, and the pipeline "
                f"{', '.join(sorted(self.readers))}; start the changed pipeline with a new checkpoint"
            )
        for name, reader in self.readers.items():
            kind = intent.kinds[name]
            if kind != reader.kind and intent.positions[name] != START:
                raise CheckpointError(
                    f"the checkpoint {folder} has a position in {kind} for source {name!r}, and its input is "
                    f"{reader.kind}; give the source the input that the checkpoint was written with, or start the "
                    "query with a new checkpoint"
                )
