"""The events of queries of the local engine.

These tests catch an event that is lost, early, or about another micro-batch, and a failure that observers do not see.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import MicroBatch, open_state

from flowalg.errors import ArgumentError, UserFunctionError
from flowalg.runs.events import QueryAdvanced, QueryEnded, QueryEvent, QueryStarted
from tests.support.observed import BATCHES, BEST, TOTALS, run_observed, scores_stream
from tests.support.scores import SCORES


def test_observers_receive_every_micro_batch_with_its_metrics() -> None:
    """A query starts, advances with the metrics of each of its micro-batches, and ends without an error."""
    events: list[QueryEvent] = []
    batches = run_observed(events.append)
    first, *advanced, last = events
    assert isinstance(first, QueryStarted)
    assert isinstance(last, QueryEnded)
    assert last.error is None
    assert {event.query for event in events} == {"best"}
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert len(advanced) == len(batches) == len(BATCHES) + 1
    for event, batch in zip(advanced, batches, strict=True):
        assert isinstance(event, QueryAdvanced)
        assert event.progress == batch.progress(event.progress.seconds)
        assert event.progress.seconds > max(stage.step_seconds for stage in batch.metrics)
        assert event.progress.stages == batch.metrics
        assert event.progress.bad_records == len(batch.bad_records)
    rows = sum(map(len, BATCHES))
    assert sum(event.progress.elements for event in advanced if isinstance(event, QueryAdvanced)) == rows


def test_a_micro_batch_is_reported_when_it_is_committed(tmp_path: Path) -> None:
    """When an observer learns of a micro-batch, the checkpoint has the windows that its metrics count."""
    checkpoint, counts = tmp_path / "checkpoint", list[tuple[int, int]]()

    def compare(event: QueryEvent) -> None:
        if isinstance(event, QueryAdvanced):
            for stage in event.progress.stages:
                counts.append((stage.windows, open_state(checkpoint, stage=stage.number).height))

    run_observed(compare, checkpoint=checkpoint)
    assert len(counts) == 2 * (len(BATCHES) + 1)
    assert all(windows == height for windows, height in counts)
    assert max(windows for windows, _ in counts) > 1


def test_a_query_without_a_name_is_called_by_its_id_also_after_a_restart(tmp_path: Path) -> None:
    """The default name is the id, which the checkpoint keeps, even if no micro-batch was committed."""
    names: list[str] = []
    for _ in range(3):
        with closing(
            streaming.batches(
                TOTALS,
                {SCORES: scores_stream()},
                dead_letters=True,
                checkpoint=tmp_path / "checkpoint",
                observers=[lambda event: names.append(event.query)],
            )
        ) as batches:
            assert next(batches).query == names[0]
    assert len(set(names)) == 1
    assert len(names) == 6


def test_the_error_of_a_query_is_in_its_last_event() -> None:
    """A query ends with the error of a function or of a sink; a query whose loop is left has no error."""
    events: list[QueryEvent] = []
    with pytest.raises(UserFunctionError):
        streaming.run(TOTALS, {SCORES: scores_stream()}, sink=lambda _: None, observers=[events.append])
    assert isinstance(events[-1], QueryEnded)
    assert events[-1].error is not None
    assert "ZeroDivisionError" in events[-1].error

    def write(batch: MicroBatch[object]) -> None:
        raise OSError("the table is away")

    events.clear()
    with pytest.raises(OSError, match="the table is away"):
        streaming.run(TOTALS, {SCORES: scores_stream()}, sink=write, observers=[events.append])
    assert [type(event) for event in events] == [QueryStarted, QueryEnded]
    assert isinstance(events[-1], QueryEnded)
    assert events[-1].error == "OSError: the table is away"
    events.clear()
    with closing(streaming.batches(TOTALS, {SCORES: scores_stream()}, observers=[events.append])) as batches:
        next(batches)
    assert [type(event) for event in events] == [QueryStarted, QueryEnded]
    assert isinstance(events[-1], QueryEnded)
    assert events[-1].error is None


def test_an_observer_that_raises_fails_the_query_after_the_commit(tmp_path: Path) -> None:
    """The error of an observer is raised, and the micro-batch before it is committed: nothing is processed twice."""

    def fail(event: QueryEvent) -> None:
        if isinstance(event, QueryAdvanced):
            raise LookupError("no such dashboard")

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(LookupError, match="no such dashboard"):
        run_observed(fail, checkpoint=checkpoint)
    numbers = [batch.number for batch in run_observed(checkpoint=checkpoint)]
    assert numbers == list(range(1, len(BATCHES) + 1))


@pytest.mark.parametrize("error", [LookupError("down"), GeneratorExit()])
@pytest.mark.parametrize("kind", [QueryStarted, QueryAdvanced, QueryEnded])
def test_an_observer_that_raises_keeps_no_event_from_the_others(
    kind: type[QueryEvent], error: BaseException
) -> None:
    """Whatever an observer raises at any event, those before and after it receive this event and the failed end."""

    def fail(event: QueryEvent) -> None:
        if isinstance(event, kind):
            raise error

    before: list[QueryEvent] = []
    after: list[QueryEvent] = []
    with pytest.raises(type(error)):
        run_observed(before.append, fail, after.append)
    ended = after[-1]
    assert before == after
    assert any(isinstance(event, kind) for event in after)
    assert isinstance(ended, QueryEnded)
    assert (ended.error is None) is (kind is QueryEnded)


def test_the_error_of_a_query_is_raised_if_an_observer_of_its_end_raises_too() -> None:
    """The cause is not replaced by what an observer raises at the end, which is a note of it."""

    def write(batch: MicroBatch[object]) -> None:
        raise OSError("the table is away")

    def fail(event: QueryEvent) -> None:
        if isinstance(event, QueryEnded):
            raise LookupError("no such dashboard")

    with pytest.raises(OSError, match="the table is away") as raised:
        streaming.run(BEST, {SCORES: scores_stream()}, sink=write, observers=[fail])
    assert raised.value.__notes__ == [
        "An observer of the end of the query raised LookupError: no such dashboard"
    ]


def test_wrong_observers_and_names_are_rejected() -> None:
    """Errors name the argument and what is valid."""
    inputs = {SCORES: scores_stream()}
    with pytest.raises(ArgumentError, match="observers must be a sequence of functions of a QueryEvent; got"):
        streaming.batches(BEST, inputs, observers=["log"])  # type: ignore[list-item]  # a fault on purpose
    with pytest.raises(ArgumentError, match="name must be a non-empty str, or None .*; got ''"):
        streaming.batches(BEST, inputs, name="")
