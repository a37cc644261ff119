"""Compares the outcome of an interpreter with the oracle, the transcript, and the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import flowalg_reference
from attrs import frozen

from flowalg import GLOBAL_WINDOW, Mode, Pane, PCollection, Window, event_time
from flowalg_laws.conformance.drawing import difference_of, drop_lines, full_line, pane_line, window_text
from flowalg_laws.conformance.jobs.job import Job, Span
from flowalg_laws.conformance.jobs.replay import Replay
from flowalg_laws.conformance.outcome import DropGroup, Outcome, count_drops
from flowalg_laws.conformance.settlement import Bag, bag, final_elements, reaches_batch_result


@frozen
class Engine:
    """The expectations of an interpreter that are independent of the job.

    ``streams`` is false for an interpreter that runs batches. ``mode`` says when its timers fire. ``ordered`` says
    that its panes are in the order of SEMANTICS section 7; the panes of a table are unordered.
    """

    streams: bool
    mode: Mode
    ordered: bool


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
    whole = flowalg_reference.run_batch(pipeline, replay.records, time=replay.time)
    result = bag((pane.element, pane.window) for pane in whole.panes) if batch is None else batch
    if not engine.streams:
        return Expected(whole.panes, count_drops(whole.dropped), result)
    run = flowalg_reference.run(pipeline, replay.timelines, mode=engine.mode)
    return Expected(run.panes, count_drops(run.dropped), result)


def failures_of(
    pipeline: PCollection[object], replay: Replay, outcome: Outcome, expected: Expected, engine: Engine
) -> Iterator[str]:
    """Yields the differences between an outcome and the expected one as text."""
    lines, wanted = list(map(full_line, outcome.panes)), list(map(full_line, expected.panes))
    if not engine.ordered:
        lines, wanted = sorted(lines), sorted(wanted)
    yield from _failure("panes are not those of the reference", difference_of(wanted, lines))
    if outcome.dropped is not None:
        found = difference_of(drop_lines(expected.dropped), drop_lines(outcome.dropped))
        yield from _failure("drops are not those of the reference", found)
    yield from _final_failures(pipeline, replay, outcome, expected, engine)


def failures_of_job(job: Job, outcome: Outcome, engine: Engine) -> Iterator[str]:
    """Yields the failures of a job: against its oracle, its transcript, and the reference interpreter."""
    batch = bag((element, _window(span)) for element, span in job.answer())
    expected = expected_outcome(job.pipeline, job.replay, engine, batch)
    yield from failures_of(job.pipeline, job.replay, outcome, expected, engine)
    if not engine.streams:
        return
    if job.panes is not None:
        lines: Sequence[str] = list(map(pane_line, outcome.panes))
        found = difference_of(*((job.panes, lines) if engine.ordered else (sorted(job.panes), sorted(lines))))
        yield from _failure("panes are not those of the transcript", found)
    if job.panes is not None and outcome.dropped is not None:
        found = difference_of(sorted(job.drops), drop_lines(outcome.dropped))
        yield from _failure("drops are not those of the transcript", found)


def _final_failures(
    pipeline: PCollection[object], replay: Replay, outcome: Outcome, expected: Expected, engine: Engine
) -> Iterator[str]:
    if not engine.streams:
        found: Bag | None = bag((pane.element, pane.window) for pane in outcome.panes)
    elif replay.ends and not (expected.dropped if outcome.dropped is None else outcome.dropped):
        found = (
            final_elements(pipeline, outcome.panes, expected.batch)
            if reaches_batch_result(pipeline)
            else None
        )
    else:
        found = None
    if found is not None:
        text = difference_of(_bag_lines(expected.batch), _bag_lines(found))
        yield from _failure("the final result is not the batch result", text)


def _bag_lines(counts: Bag) -> list[str]:
    lines = (n * [f"{text} {window_text(window)}"] for (text, window), n in counts.items())
    return sorted(line for some in lines for line in some)


def _failure(title: str, difference: str) -> Iterator[str]:
    if difference:
        yield f"{title}:\n{difference}"


def _window(span: Span) -> Window:
    return GLOBAL_WINDOW if span is None else Window.of(event_time(span[0]), event_time(span[1]))


__all__ = ["Engine", "Expected", "expected_outcome", "failures_of", "failures_of_job"]
