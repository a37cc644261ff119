"""Compares the run of an interpreter with the oracle, the transcript, and the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from attrs import evolve, field, frozen
from flowalg_reference import Reference, ReferenceBatch

from flowalg import EventTime, Outputs, Pane, PCollection, ProcessingTime, Run, Window, event_time
from flowalg.analysis import Capabilities
from flowalg.data.errors import format_value
from flowalg.pipeline.outputs import emits_panes
from flowalg.runs import BadRecord, Drop, Output, OutputElement
from flowalg.windows import GLOBAL_WINDOW
from flowalg_laws.conformance.drawing import (
    bad_record_line,
    difference_of,
    drop_lines,
    dropped_line,
    element_line,
    full_line,
    pane_line,
    place_text,
)
from flowalg_laws.conformance.drops import count_drops
from flowalg_laws.conformance.jobs.job import Answer, Job, Span
from flowalg_laws.conformance.settlement import Bag, Place, bag, final_elements, reaches_batch_result
from flowalg_laws.kit.replay import Replay


@frozen
class Engine:
    """The expectations of an interpreter that are independent of the job.

    With ``ordered`` the panes are in the order of SEMANTICS section 7; the panes of a table are unordered.
    With ``drops`` the drops are compared, and with ``late_data`` the dropped elements, one by one.
    """

    capabilities: Capabilities
    ordered: bool = field(kw_only=True)
    drops: bool = field(kw_only=True)
    late_data: bool = field(default=False, kw_only=True)


@frozen
class Expected:
    """The expected outcome of a run: the output, drops and bad records of the reference, and the batch result."""

    output: Output[object]
    dropped: Sequence[Drop]
    batch: Bag
    bad_records: tuple[BadRecord, ...] = ()


def expected_outcome(
    pipeline: PCollection[object], replay: Replay, engine: Engine, *, dead_letters: bool = False
) -> Expected:
    """Returns the outcome of the reference interpreter."""
    whole = ReferenceBatch(dead_letters=dead_letters).run(pipeline, replay.timelines)
    streams, mode = engine.capabilities.streams, engine.capabilities.mode
    run = Reference(mode, dead_letters=dead_letters).run(pipeline, replay.timelines) if streams else whole
    return Expected(run, run.dropped, _whole(whole), run.bad_records)


def failures_of(
    pipeline: PCollection[object], replay: Replay, run: Run[object], expected: Expected, engine: Engine
) -> Iterator[str]:
    """Yields the differences between a run and the expected one as text."""
    yield from _output_failures(run, expected.output, engine)
    yield from _drop_failures(run.dropped, expected.dropped, engine)
    yield from _bad_record_failures(run.bad_records, expected.bad_records)
    dropped = run.dropped if engine.drops else expected.dropped
    yield from _final_failures(pipeline, replay, run, expected.batch, engine, complete=not dropped)


def failures_of_job(job: Job, run: Run[object] | Outputs, engine: Engine) -> Iterator[str]:
    """Yields the failures of a job: against its oracle, its transcript, and the reference interpreter."""
    if isinstance(run, Run):
        outcome = expected_outcome(job.pipeline, job.replay, engine, dead_letters=job.dead_letters)
        expected = evolve(outcome, batch=_answer(job.answer()))
        yield from failures_of(job.pipeline, job.replay, run, expected, engine)
        yield from _transcript_failures(job, run, run.dropped, engine)
        yield from _bad_transcript_failures(job, run.bad_records)
        return
    streams, mode = engine.capabilities.streams, engine.capabilities.mode
    letters = job.dead_letters
    reference = Reference(mode, dead_letters=letters) if streams else ReferenceBatch(dead_letters=letters)
    wanted = reference.run(job.outputs, job.replay.timelines)
    yield from _drop_failures(run.dropped, wanted.dropped, engine)
    yield from _bad_record_failures(run.bad_records, wanted.bad_records)
    yield from _bad_transcript_failures(job, run.bad_records)
    dropped = run.dropped if engine.drops else wanted.dropped
    for output_job in (job, *job.others):
        for failure in (
            *_output_failures(run[output_job.name], wanted[output_job.name], engine),
            *_final_failures(
                output_job.pipeline,
                job.replay,
                run[output_job.name],
                _answer(output_job.answer()),
                engine,
                complete=not dropped,
            ),
        ):
            yield f"output {output_job.name!r}: {failure}"


def _output_failures(actual: Output[object], wanted: Output[object], engine: Engine) -> Iterator[str]:
    lines, expected = list(map(full_line, actual.panes)), list(map(full_line, wanted.panes))
    if not engine.ordered:
        lines, expected = sorted(lines), sorted(expected)
    yield from _failure("panes are not those of the reference", difference_of(expected, lines))
    elements, expected = list(map(element_line, actual.elements)), list(map(element_line, wanted.elements))
    yield from _failure("elements are not those of the reference", difference_of(expected, elements))
    yield from _failure("points in time are plain numbers", "\n".join(_plain_numbers(actual)))


def _drop_failures(drops: Sequence[Drop], wanted: Sequence[Drop], engine: Engine) -> Iterator[str]:
    if engine.drops:
        difference = difference_of(drop_lines(count_drops(wanted)), drop_lines(count_drops(drops)))
        yield from _failure("drops are not those of the reference", difference)
    if engine.late_data:
        lines = sorted(map(dropped_line, drops))
        difference = difference_of(sorted(map(dropped_line, wanted)), lines)
        yield from _failure("dropped elements are not those of the reference", difference)


def _bad_record_failures(bad_records: Iterable[BadRecord], wanted: Iterable[BadRecord]) -> Iterator[str]:
    yield from _failure(
        "bad records are not those of the reference",
        difference_of(_full_lines(wanted), _full_lines(bad_records)),
    )


def _full_lines(records: Iterable[BadRecord]) -> list[str]:
    return [f"{record.stage} {record.record}: {record.error}" for record in records]


def _bad_transcript_failures(job: Job, bad_records: Iterable[BadRecord]) -> Iterator[str]:
    lines = sorted(map(bad_record_line, bad_records))
    difference = difference_of(sorted(job.bad_records), lines)
    yield from _failure("bad records are not those of the transcript", difference)


def _transcript_failures(
    job: Job, run: Output[object], dropped: Iterable[Drop], engine: Engine
) -> Iterator[str]:
    if job.panes is None or not engine.capabilities.streams:
        return
    lines: Sequence[str] = list(map(pane_line, run.panes))
    difference = difference_of(
        *((job.panes, lines) if engine.ordered else (sorted(job.panes), sorted(lines)))
    )
    yield from _failure("panes are not those of the transcript", difference)
    if engine.drops:
        difference = difference_of(sorted(job.drops), drop_lines(count_drops(dropped)))
        yield from _failure("drops are not those of the transcript", difference)


def _final_failures(
    pipeline: PCollection[object],
    replay: Replay,
    run: Output[object],
    batch: Bag,
    engine: Engine,
    *,
    complete: bool,
) -> Iterator[str]:
    """Yields the differences between the final result and that of a batch; ``complete``: nothing was dropped."""
    final: Bag | None = None
    if not engine.capabilities.streams:
        final = _whole(run)
    elif replay.ends and complete and reaches_batch_result(pipeline):
        panes = emits_panes(pipeline.node)
        final = final_elements(pipeline, run.panes, batch) if panes else _whole(run)
    if final is not None:
        text = difference_of(_bag_lines(batch), _bag_lines(final))
        yield from _failure("the final result is not the batch result", text)


def _whole(output: Output[object]) -> Bag:
    """Returns all elements of an output: those of panes by their windows, others by their event times."""
    panes: list[tuple[object, Place]] = [(pane.element, pane.window) for pane in output.panes]
    return bag([*panes, *((element.element, element.event_time) for element in output.elements)])


def _answer(answer: Answer) -> Bag:
    return bag((element, _place(place)) for element, place in answer)


def _bag_lines(counts: Bag) -> list[str]:
    lines = (n * [f"{text} {place_text(place)}"] for (text, place), n in counts.items())
    return sorted(line for copies in lines for line in copies)


def _plain_numbers(output: Output[object]) -> Iterator[str]:
    """Yields the points in time of an output that do not have the type of their domain, as text."""
    for pane in output.panes:
        yield from _plain(pane_line(pane), pane, event_time=EventTime, watermark=EventTime)
        yield from _plain(pane_line(pane), pane, processing_time=ProcessingTime)
    for element in output.elements:
        yield from _plain(
            element_line(element), element, event_time=EventTime, processing_time=ProcessingTime
        )


def _plain(line: str, value: Pane[object] | OutputElement[object], **points: type) -> Iterator[str]:
    for name, domain in points.items():
        point: object = getattr(value, name)
        if not isinstance(point, domain):
            yield f"{line}: {name} must be of type {domain.__name__}; got {format_value(point)}"


def _failure(title: str, difference: str) -> Iterator[str]:
    if difference:
        yield f"{title}:\n{difference}"


def _place(place: Span | datetime) -> Place:
    if isinstance(place, datetime):
        return event_time(place)
    return GLOBAL_WINDOW if place is None else Window(event_time(place[0]), event_time(place[1]))
