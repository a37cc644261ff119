"""What a changed pipeline continues from a checkpoint of the local engine, and state in another number of shards.

These tests catch a plan that says yes where the query fails, a state that another stage continues, a key that a shard
does not find again, and an older checkpoint that can no longer be read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from attrs import frozen
from flowalg_laws import check_interpreter
from flowalg_laws.conformance import JOBS, Job, covering
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, MicroBatches, StreamInput
from flowalg_shard.state.compatibility import Outcome, StageDescription
from flowalg_shard.state.plans import plan_stages
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Aggregate,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Mean,
    PCollection,
    Repeat,
    Sessions,
    Source,
    Sum,
    ToList,
    flatten,
)
from flowalg.analysis.features import AREA_OF, Area
from flowalg.errors import ArgumentError, CheckpointError
from flowalg.pipeline.structure import sources_of
from flowalg.triggers import Trigger
from flowalg.windows import AllowedLateness, WindowFn
from tests.polars.test_streams import BATCHES, TOTALS, stream_of, summary
from tests.support.local_queries import LocalQueries
from tests.support.scores import NOON, SCORES, Score

MINUTE = timedelta(minutes=1)
OTHERS: Final = Source("others", Score, event_time=lambda s: s.at)
EVERY = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))

Outputs = Mapping[str, PCollection[object]]


def inputs_of(
    outputs: Outputs, batches: Sequence[Sequence[Score]] = BATCHES
) -> dict[Source[Score], StreamInput]:
    """Returns a stream for each source of some outputs; all have the same micro-batches."""
    names = {node.name for node in sources_of(*(output.node for output in outputs.values()))}
    inputs: dict[Source[Score], StreamInput] = {}
    for source in (SCORES, OTHERS):
        if source.name in names:
            inputs[source] = stream_of(batches)
    return inputs


def run(outputs: Outputs, folder: str | Path | None = None, stop: int | None = None) -> list[MicroBatches]:
    """Returns the micro-batches of a run, the last of which is not committed if it is stopped."""
    batches = streaming.batches(outputs, inputs_of(outputs), checkpoint=folder)
    emitted = list(islice(batches, stop))
    batches.close()
    return emitted


def panes(outputs: Sequence[MicroBatches], name: str) -> list[tuple[int, *tuple[object, ...]]]:
    """Returns what the panes of an output say, without processing times, and its elements."""
    rows: list[tuple[int, *tuple[object, ...]]] = []
    for batch in (batches[name] for batches in outputs):
        rows += [(batch.number, *pane[1:]) for pane in summary([batch])]
        rows += [(batch.number, row.element) for row in batch.elements]
    return rows


def keyed(source: str) -> PCollection[KV[str, int]]:
    """Returns scores by team, of one source or of both in one order or the other."""
    read = {
        "scores": SCORES,
        "both": flatten(SCORES, OTHERS),
        "both, the other way around": flatten(OTHERS, SCORES),
    }[source]
    return read.key_by(lambda s: s.team).map_values(lambda s: s.points)


def grouped(
    source: str,
    windows: WindowFn,
    trigger: Trigger,
    lateness: AllowedLateness,
    combiner: Aggregate[int, object],
    then: str,
) -> PCollection[object]:
    """Returns a pipeline with one to three stages."""
    points = keyed(source)
    if then == "elements":
        return points
    if then == "distinct":
        points = points.deduplicate(by=lambda p: (p.key, p.value), within=MINUTE).map(
            lambda p: KV(p.key, p.value)
        )
    retracting = Accumulation.RETRACTING
    totals = points.window(
        windows, trigger=trigger, accumulation=retracting, allowed_lateness=lateness
    ).combine_per_key(combiner)
    if then == "beside":
        side = keyed("scores").window(FixedWindows(MINUTE), allowed_lateness=FOREVER).combine_per_key(Sum())
        return points.with_side(side.as_map())
    if then == "again":
        return totals.map(lambda pair: KV(str(pair.value), pair.key)).combine_per_key(Count())
    return totals


PIPELINES: Final = st.builds(
    grouped,
    st.sampled_from(["scores", "scores", "both", "both, the other way around"]),
    st.sampled_from([FixedWindows(MINUTE), FixedWindows(MINUTE), Sessions(MINUTE)]),
    st.sampled_from([EVERY, EVERY, Repeat(AtCount(1)), Repeat(AtCount(2))]),
    st.sampled_from([timedelta(0), 2 * MINUTE, 2 * MINUTE, FOREVER]),
    st.sampled_from([Sum(), Sum(), Count(), Mean(), ToList()]),
    st.sampled_from(["", "", "", "again", "distinct", "elements", "beside"]),
)
OUTPUTS: Final = st.dictionaries(st.sampled_from(["a", "b", "c"]), PIPELINES, min_size=1, max_size=3)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Outputs, Outputs]:
    """Returns the outputs of a query before and after a change: others, more, fewer, or in another order."""
    before = draw(OUTPUTS)
    after = dict(draw(st.permutations(list(before.items()))))
    for name in draw(st.sets(st.sampled_from(["a", "b", "c"]), max_size=2)):
        if name in after and len(after) > 1 and draw(st.booleans()):
            del after[name]
        else:
            after[name] = draw(PIPELINES)
    return before, after


@pytest.mark.long
@settings(max_examples=settings().max_examples)
@given(changes(), st.integers(2, 4))
def test_a_query_starts_if_and_only_if_its_plan_is_accepted(
    change: tuple[Outputs, Outputs], stop: int
) -> None:
    """A changed query that the plan accepts runs to its end, and one that it does not accept raises at once."""
    before, after = change
    with tempfile.TemporaryDirectory() as folder:
        run(before, folder, stop)
        plan = streaming.plan(after, folder)
        if plan.accepted:
            assert len(run(after, folder)) == len(BATCHES) + 1 - (stop - 1)  # one that ends the input
        else:
            with pytest.raises(CheckpointError):
                run(after, folder)


@pytest.mark.long
@given(OUTPUTS, st.data(), st.integers(2, 4))
def test_outputs_that_are_added_start_empty_and_change_no_others(
    outputs: Outputs, data: st.DataObject, stop: int
) -> None:
    """Added outputs give what a query without the earlier micro-batches does, and the others what they did before."""
    names = sorted(outputs)
    old = {name: outputs[name] for name in data.draw(st.sets(st.sampled_from(names), min_size=1))}
    whole = run(outputs)
    with tempfile.TemporaryDirectory() as folder:
        run(old, folder, stop)
        plan = streaming.plan(outputs, folder)
        if not plan.accepted:
            return
        continued = run(outputs, folder)
        for name in outputs:
            wanted = whole[stop - 1 :]
            if name not in old:
                alone = {name: outputs[name]}
                rest = inputs_of(alone, BATCHES[stop - 1 :])
                wanted = list(streaming.batches(alone, rest))
                later = [(batch - (stop - 1), *pane) for batch, *pane in panes(continued, name)]
                assert later == panes(wanted, name)
            else:
                assert panes(continued, name) == panes(wanted, name)


@pytest.mark.long
@given(OUTPUTS, st.data(), st.integers(2, 4))
def test_outputs_that_are_removed_change_no_others(outputs: Outputs, data: st.DataObject, stop: int) -> None:
    """After some outputs are removed, the others are what they were."""
    kept = {name: outputs[name] for name in data.draw(st.sets(st.sampled_from(sorted(outputs)), min_size=1))}
    whole = run(outputs)
    with tempfile.TemporaryDirectory() as folder:
        run(outputs, folder, stop)
        if streaming.plan(kept, folder).accepted:
            continued = run(kept, folder)
            for name in kept:
                assert panes(continued, name) == panes(whole[stop - 1 :], name)


def totals(
    *, lateness: AllowedLateness = 2 * MINUTE, combiner: Aggregate[int, object] | None = None, count: int = 1
) -> PCollection[object]:
    """Returns the totals of teams."""
    trigger = AtWatermark().with_early_firings(AtCount(count)).with_late_firings(AtCount(1))
    windowed = keyed("scores").window(
        FixedWindows(MINUTE),
        trigger=trigger,
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=lateness,
    )
    return windowed.combine_per_key(Sum() if combiner is None else combiner)


TALLY: Final = keyed("scores").window(FixedWindows(MINUTE), allowed_lateness=FOREVER).combine_per_key(Count())


@pytest.mark.parametrize(
    ("after", "outcomes"),
    [
        ({"a": totals()}, [Outcome.CONTINUES]),
        ({"renamed": totals()}, [Outcome.CONTINUES]),
        ({"a": totals(lateness=FOREVER)}, [Outcome.CHANGES]),
        ({"a": totals(count=3)}, [Outcome.CHANGES]),
        ({"a": totals(lateness=MINUTE)}, [Outcome.INCOMPATIBLE]),
        ({"a": totals(combiner=Mean())}, [Outcome.INCOMPATIBLE]),
        ({"a": keyed("scores")}, [Outcome.INCOMPATIBLE]),
        ({"b": TALLY, "a": totals()}, [Outcome.NEW, Outcome.CONTINUES]),
        (
            {"a": totals().map(lambda pair: KV("all", 1)).combine_per_key(Count())},
            [Outcome.CONTINUES, Outcome.INCOMPATIBLE],
        ),
        ({"a": totals(), "b": totals(count=3)}, [Outcome.INCOMPATIBLE, Outcome.INCOMPATIBLE]),
        ({"b": TALLY, "a": totals(combiner=Mean())}, [Outcome.INCOMPATIBLE, Outcome.INCOMPATIBLE]),
    ],
    ids=[
        "nothing",
        "the name of the output",
        "longer lateness",
        "other numbers",
        "shorter lateness",
        "another combiner",
        "elements instead of totals",
        "a further output",
        "a stage after one that continues",
        "which of two",
        "a removed and two new ones",
    ],
)
def test_the_plan_has_a_finding_for_each_stage(
    tmp_path: Path, after: Outputs, outcomes: list[Outcome]
) -> None:
    """The plan says of each stage of the pipeline, in order, what becomes of its state, and the query agrees."""
    run({"a": totals()}, tmp_path)
    plan = streaming.plan(after, tmp_path)
    assert [finding.outcome for finding in plan.stages] == outcomes
    if not plan.accepted:
        with pytest.raises(CheckpointError):
            run(after, tmp_path)


def test_a_plan_can_be_read(tmp_path: Path) -> None:
    """A plan is text with a line for each stage, and one for each problem of the whole query."""
    before: Outputs = {"a": totals(), "b": TALLY}
    run(before, tmp_path, 2)
    after: Outputs = {"a": totals(lateness=FOREVER)}
    assert str(streaming.plan(after, tmp_path)) == (
        "The pipeline can continue from the checkpoint.\n"
        "stage 'combine_per_key(Sum)' continues with changes: allowed lateness was 0:02:00 and is now unlimited\n"
        "stage 'combine_per_key(Count)' is removed with its state"
    )
    both = keyed("both").window(FixedWindows(MINUTE), allowed_lateness=FOREVER).combine_per_key(Sum())
    text = str(streaming.plan(both, tmp_path, shards=2))
    assert text.startswith("The pipeline cannot continue from the checkpoint.\nthe checkpoint ")
    assert "has the sources scores, and the pipeline others, scores" in text
    assert "has 1 shards; got shards=2" in text
    assert "it read source 'scores' and now reads source 'scores', source 'others'" in text


def test_a_plan_reads_the_whole_checkpoint(tmp_path: Path) -> None:
    """A plan of a damaged checkpoint raises, and so does one of a folder that is none."""
    with pytest.raises(CheckpointError, match="is no checkpoint of the local engine"):
        streaming.plan(TOTALS, tmp_path)
    run({"a": totals()}, tmp_path)
    manifest = tmp_path / "manifest"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="is damaged"):
        streaming.plan(TOTALS, tmp_path)


SOURCE, STAGE = ("scores",), (0,)


@pytest.mark.parametrize(
    ("before", "now", "outcomes"),
    [
        (
            [("x", SOURCE), ("y", SOURCE)],
            [("y", SOURCE), ("x", SOURCE)],
            {"x": "continues", "y": "continues"},
        ),
        (
            [("x", SOURCE), ("y", STAGE)],
            [("x", SOURCE)],
            {"x": "continues", "y": "is removed with its state"},
        ),
        (
            [("x", SOURCE), ("y", STAGE)],
            [("y", SOURCE)],
            {"y": "cannot continue", "x": "is removed with its state"},
        ),
        (
            [("y", SOURCE)],
            [("x", SOURCE), ("y", STAGE)],
            {"x": "is new and starts empty", "y": "cannot continue"},
        ),
        ([("x", ("scores", "others"))], [("x", ("others", "scores"))], {"x": "cannot continue"}),
    ],
)
def test_a_stage_continues_only_with_the_same_upstreams(
    before: list[tuple[str, tuple[str | int, ...]]],
    now: list[tuple[str, tuple[str | int, ...]]],
    outcomes: dict[str, str],
) -> None:
    """A stage continues if the same sources and continued stages flow into it; numbers of stages may differ."""

    def described(stages: list[tuple[str, tuple[str | int, ...]]]) -> list[StageDescription]:
        return [StageDescription(label, {"combiner": label}, (inputs,)) for label, inputs in stages]

    findings = plan_stages(described(before), described(now))
    assert {finding.stage: finding.outcome.value for finding in findings} == outcomes


STATEFUL: Final = covering(
    JOBS,
    {
        *(feature for feature, area in AREA_OF.items() if area is not Area.WATERMARKS),
        *streaming.CAPABILITIES.missing,
    },
)
"""Jobs with every feature but those of clocks, of which each shard has all, and jobs that are rejected."""


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(STATEFUL, marks=pytest.mark.long),
        pytest.param(JOBS, marks=pytest.mark.thorough),
    ],
    ids=["features of the state", "every job"],
)
def test_a_query_whose_state_is_resharded_conforms(jobs: Sequence[Job]) -> None:
    """A query whose state is divided into other numbers of shards between its runs has the panes of the reference."""
    queries = LocalQueries(1, (3, 2, 3, 2), (4, 2, 3, 1))
    check_interpreter(queries, jobs=jobs, ordered=True, generated=len(jobs) // 10)


@pytest.mark.long
@given(OUTPUTS, st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(1, 2))
def test_resharding_changes_no_panes(outputs: Outputs, shards: list[int], stop: int) -> None:
    """Outputs are the same if the state is divided into other numbers of shards between micro-batches."""
    whole = run(outputs)
    with tempfile.TemporaryDirectory() as folder:
        by_number: dict[int, MicroBatches] = {}
        current = 1
        for following in [*shards, None]:
            batches = streaming.batches(outputs, inputs_of(outputs), checkpoint=folder, shards=current)
            for batch in islice(batches, None if following is None else stop + 1):
                by_number[batch[next(iter(outputs))].number] = batch
            batches.close()
            if following is not None:
                streaming.reshard(folder, following)
                current = following
        for name in outputs:
            assert panes([by_number[number] for number in sorted(by_number)], name) == panes(whole, name)


@frozen
class Place:
    """A key of several columns."""

    name: str
    floor: int | None


@frozen
class Visit:
    """A record with a key of each type."""

    key: int
    at: datetime


VISITS: Final = Source("visits", Visit, event_time=lambda v: v.at)


def _text(visit: Visit) -> str:
    return f"a key that is long enough to be stored apart, {visit.key}"


def _place(visit: Visit) -> Place:
    return Place(f"place {visit.key}", None if visit.key % 2 else visit.key)


def _optional(visit: Visit) -> str | None:
    return None if visit.key == 0 else str(visit.key)


def _time(visit: Visit) -> datetime:
    return datetime(2024, 1, 1 + visit.key % 20, tzinfo=UTC)


def _day(visit: Visit) -> date:
    return date(2024, 1, 1 + visit.key % 20)


def _set(visit: Visit) -> frozenset[int]:
    return frozenset(range(visit.key))


def _flag(visit: Visit) -> bool:
    return visit.key > 2


def _pair(visit: Visit) -> tuple[int, str]:
    return visit.key, str(visit.key)


def _number(visit: Visit) -> int:
    return visit.key


@pytest.mark.parametrize(
    "key",
    [_text, _place, _optional, _time, _day, _set, _flag, _pair, _number],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("windows", [FixedWindows(MINUTE), Sessions(MINUTE)], ids=["fixed", "sessions"])
def test_keys_of_all_types_are_found_again(
    tmp_path: Path, key: Callable[[Visit], object], windows: WindowFn
) -> None:
    """After resharding, the elements of a key join its window, whatever the type of the key."""
    counted = VISITS.key_by(key).window(windows, allowed_lateness=FOREVER).combine_per_key(Count())
    schema = {"key": pl.Int64(), "at": pl.Datetime("us", "UTC")}
    rows = pl.DataFrame([{"key": number, "at": NOON} for number in range(8)], schema=schema)
    stream = StreamInput(Frames([rows, rows, rows]), BoundedOutOfOrderness(MINUTE))
    wanted = [
        (pane.element, pane.window)
        for batch in streaming.batches(counted, {VISITS: stream}, drain=True)
        for pane in batch.panes
    ]
    begun = streaming.batches(counted, {VISITS: stream}, checkpoint=tmp_path, drain=True)
    for _ in range(2):
        next(begun)
    begun.close()
    streaming.reshard(tmp_path, 3)
    assert streaming.open_state(tmp_path)["shard"].n_unique() > 1
    resharded = [
        (pane.element, pane.window)
        for batch in streaming.batches(counted, {VISITS: stream}, checkpoint=tmp_path, drain=True, shards=3)
        for pane in batch.panes
    ]
    assert repr(resharded) == repr(wanted)
    assert {pair.value for pair, _ in resharded if isinstance(pair, KV)} <= {3, 6, 9, 12, 15, 18}


def test_a_bad_number_of_shards_is_refused(tmp_path: Path) -> None:
    """The number of shards is at least 1, and the folder has a checkpoint that no query uses."""
    with pytest.raises(ArgumentError, match="shards must be an int of 1 or more; got 0"):
        streaming.reshard(tmp_path, 0)
    with pytest.raises(CheckpointError, match="is no checkpoint of the local engine"):
        streaming.reshard(tmp_path, 2)
    batches = streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path)
    for _ in range(2):
        next(batches)
    with pytest.raises(CheckpointError, match="is in use by another process"):
        streaming.reshard(tmp_path, 2)
