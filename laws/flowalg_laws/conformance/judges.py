"""Whether an interpreter's outcome is right: by the oracle, by the transcript, and by the reference, pane by pane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import flowalg_reference
from attrs import frozen

from flowalg import GLOBAL_WINDOW, Mode, Pane, PCollection, Window, event_time
from flowalg_laws.conformance.drawing import differing, drop_lines, full_line, pane_line, window_text
from flowalg_laws.conformance.jobs.job import Job, Span
from flowalg_laws.conformance.jobs.replay import Replay
from flowalg_laws.conformance.outcome import Outcome, Refused, counted
from flowalg_laws.conformance.settlement import Bag, bag, settles, standing


@frozen
class Engine:
    """What is held against an interpreter beside what it gives.

    ``streams`` is false for one that runs batches. ``mode`` says when it looks at its clocks. ``ordered`` says that its
    panes come in the order of SEMANTICS section 7; a table of panes has none.
    """

    streams: bool
    mode: Mode
    ordered: bool


@frozen
class Due:
    """What must come of a run: the reference's panes and drops over the same replay, and the batch result."""

    panes: tuple[Pane[object], ...]
    dropped: Mapping[Refused, int]
    batch: Bag


def due(pipeline: PCollection[object], replay: Replay, engine: Engine, batch: Bag | None = None) -> Due:
    """What the reference does; the batch result is its own too, unless there is an oracle's."""
    whole = flowalg_reference.run_batch(pipeline, replay.records, time=replay.time)
    result = bag((pane.element, pane.window) for pane in whole.panes) if batch is None else batch
    if not engine.streams:
        return Due(whole.panes, counted(whole.dropped), result)
    run = flowalg_reference.run(pipeline, replay.timelines, mode=engine.mode)
    return Due(run.panes, counted(run.dropped), result)


def faults(
    pipeline: PCollection[object], replay: Replay, outcome: Outcome, wanted: Due, engine: Engine
) -> Iterator[str]:
    """What is wrong with an outcome, as text; nothing if it is right."""
    lines, expected = list(map(full_line, outcome.panes)), list(map(full_line, wanted.panes))
    if not engine.ordered:
        lines, expected = sorted(lines), sorted(expected)
    yield from _unless("panes are not those of the reference", differing(expected, lines))
    if outcome.dropped is not None:
        found = differing(drop_lines(wanted.dropped), drop_lines(outcome.dropped))
        yield from _unless("drops are not those of the reference", found)
    yield from _unsettled(pipeline, replay, outcome, wanted, engine)


def faults_of_job(job: Job, outcome: Outcome, engine: Engine) -> Iterator[str]:
    """What is wrong with the outcome of a job: by its oracle and its transcript, and by the reference."""
    batch = bag((element, _window(span)) for element, span in job.answer())
    yield from faults(job.pipeline, job.replay, outcome, due(job.pipeline, job.replay, engine, batch), engine)
    if not engine.streams:
        return
    if job.panes is not None:
        lines: Sequence[str] = list(map(pane_line, outcome.panes))
        found = differing(*((job.panes, lines) if engine.ordered else (sorted(job.panes), sorted(lines))))
        yield from _unless("panes are not those of the transcript", found)
    if job.panes is not None and outcome.dropped is not None:
        found = differing(sorted(job.drops), drop_lines(outcome.dropped))
        yield from _unless("drops are not those of the transcript", found)


def _unsettled(
    pipeline: PCollection[object], replay: Replay, outcome: Outcome, wanted: Due, engine: Engine
) -> Iterator[str]:
    if not engine.streams:
        found: Bag | None = bag((pane.element, pane.window) for pane in outcome.panes)
    elif replay.ends and not (wanted.dropped if outcome.dropped is None else outcome.dropped):
        found = standing(pipeline, outcome.panes, wanted.batch) if settles(pipeline) else None
    else:
        found = None
    if found is not None:
        text = differing(_bag_lines(wanted.batch), _bag_lines(found))
        yield from _unless("what stands at the end is not the batch result", text)


def _bag_lines(counts: Bag) -> list[str]:
    lines = (n * [f"{text} {window_text(window)}"] for (text, window), n in counts.items())
    return sorted(line for some in lines for line in some)


def _unless(what: str, difference: str) -> Iterator[str]:
    if difference:
        yield f"{what}:\n{difference}"


def _window(span: Span) -> Window:
    return GLOBAL_WINDOW if span is None else Window.of(event_time(span[0]), event_time(span[1]))


__all__ = ["Due", "Engine", "due", "faults", "faults_of_job"]
