"""Compares the run of an interpreter with the oracle, the transcript, and the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import field, frozen
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    GLOBAL_WINDOW,
    Capabilities,
    EventTime,
    Pane,
    PCollection,
    ProcessingTime,
    Run,
    Window,
    event_time,
)
from flowalg.data.errors import format_value
from flowalg_laws.conformance.drawing import difference_of, drop_lines, full_line, pane_line, window_text
from flowalg_laws.conformance.drops import DropGroup, count_drops
from flowalg_laws.conformance.jobs.job import Job, Span
from flowalg_laws.conformance.jobs.replay import Replay
from flowalg_laws.conformance.settlement import Bag, bag, final_elements, reaches_batch_result


@frozen
class Engine:
    """The expectations of an interpreter that are independent of the job.

    With ``ordered`` the panes are in the order of SEMANTICS section 7; the panes of a table are unordered.
    With ``drops`` the drops are compared.
    """

    capabilities: Capabilities
    ordered: bool = field(kw_only=True)
    drops: bool = field(kw_only=True)


@frozen
class Expected:
    """The expected outcome of a run: the panes and drops of the reference interpreter, and the batch result."""

    panes: tuple[Pane[object], ...]
    dropped: Mapping[DropGroup, int]
    batch: Bag


def expected_outcome(
    pipeline: PCollection[object], replay: Replay, engine: Engine, batch: Bag | None = None
) -> Expected:
    """Returns the outcome of the reference interpreter. ``batch`` is the result of an oracle, if there is one."""
    whole = ReferenceBatch().run(pipeline, replay.timelines)
    result = bag((pane.element, pane.window) for pane in whole.panes) if batch is None else batch
    streams, mode = engine.capabilities.streams, engine.capabilities.mode
    run = Reference(mode).run(pipeline, replay.timelines) if streams else whole
    return Expected(run.panes, count_drops(run.dropped), result)


def failures_of(
    pipeline: PCollection[object], replay: Replay, run: Run[object], expected: Expected, engine: Engine
) -> Iterator[str]:
    """Yields the differences between a run and the expected one as text."""
    lines, wanted = list(map(full_line, run.panes)), list(map(full_line, expected.panes))
    if not engine.ordered:
        lines, wanted = sorted(lines), sorted(wanted)
    yield from _failure("panes are not those of the reference", difference_of(wanted, lines))
    yield from _failure("points in time are plain numbers", "\n".join(_plain_numbers(run.panes)))
    if engine.drops:
        found = difference_of(drop_lines(expected.dropped), drop_lines(count_drops(run.dropped)))
        yield from _failure("drops are not those of the reference", found)
    yield from _final_failures(pipeline, replay, run, expected, engine)


def failures_of_job(job: Job, run: Run[object], engine: Engine) -> Iterator[str]:
    """Yields the failures of a job: against its oracle, its transcript, and the reference interpreter."""
    batch = bag((element, _window(span)) for element, span in job.answer())
    expected = expected_outcome(job.pipeline, job.replay, engine, batch)
    yield from failures_of(job.pipeline, job.replay, run, expected, engine)
    if not engine.capabilities.streams:
        return
    if job.panes is not None:
        lines: Sequence[str] = list(map(pane_line, run.panes))
        found = difference_of(*((job.panes, lines) if engine.ordered else (sorted(job.panes), sorted(lines))))
        yield from _failure("panes are not those of the transcript", found)
    if job.panes is not None and engine.drops:
        found = difference_of(sorted(job.drops), drop_lines(count_drops(run.dropped)))
        yield from _failure("drops are not those of the transcript", found)


def _final_failures(
    pipeline: PCollection[object], replay: Replay, run: Run[object], expected: Expected, engine: Engine
) -> Iterator[str]:
    if not engine.capabilities.streams:
        found: Bag | None = bag((pane.element, pane.window) for pane in run.panes)
    elif replay.ends and not (run.dropped if engine.drops else expected.dropped):
        found = (
            final_elements(pipeline, run.panes, expected.batch) if reaches_batch_result(pipeline) else None
        )
    else:
        found = None
    if found is not None:
        text = difference_of(_bag_lines(expected.batch), _bag_lines(found))
        yield from _failure("the final result is not the batch result", text)


def _bag_lines(counts: Bag) -> list[str]:
    lines = (n * [f"{text} {window_text(window)}"] for (text, window), n in counts.items())
    return sorted(line for some in lines for line in some)


def _plain_numbers(panes: Iterable[Pane[object]]) -> Iterator[str]:
    """Yields the points in time of the panes that do not have the type of their domain, as text."""
    for pane in panes:
        points: tuple[tuple[str, object, type], ...] = (
            ("event_time", pane.event_time, EventTime),
            ("watermark", pane.watermark, EventTime),
            ("processing_time", pane.processing_time, ProcessingTime),
        )
        for name, point, domain in points:
            if not isinstance(point, domain):
                yield f"{pane_line(pane)}: {name} must be of type {domain.__name__}; got {format_value(point)}"


def _failure(title: str, difference: str) -> Iterator[str]:
    if difference:
        yield f"{title}:\n{difference}"


def _window(span: Span) -> Window:
    return GLOBAL_WINDOW if span is None else Window(event_time(span[0]), event_time(span[1]))


__all__ = ["Engine", "Expected", "expected_outcome", "failures_of", "failures_of_job"]
