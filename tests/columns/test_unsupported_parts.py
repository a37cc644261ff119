"""Engines report all parts of a pipeline that they cannot run, and nothing that follows from another part.

The tests catch a compilation that ends at the first part, a part that is reported twice, and a consequence.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias, cast

import flowalg_spark
import polars as pl
import pytest
from flowalg_columns.checks.plans import check_plan, reporting_all_parts
from flowalg_laws.conformance import JOBS
from flowalg_laws.kit.readings import READINGS
from flowalg_polars import PolarsStreaming, batch, streaming
from flowalg_polars.capabilities import REQUIREMENTS
from flowalg_polars.streaming import Frames, StreamInput
from hypothesis import given
from hypothesis import strategies as st
from returns.pipeline import is_successful
from returns.result import Result

from flowalg import (
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    FlowalgError,
    PCollection,
    Perfect,
    Sessions,
    Source,
    Sum,
    Timeline,
    flatten,
)
from flowalg.errors import ElementError, UnsupportedError
from flowalg.interpreters import Feature
from flowalg.pipeline.structure import sources_of
from flowalg.plan import Plan, plan_batch
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import WindowFn
from tests.support.scores import NOON, POINTS, SCORES, Score, minute
from tests.support.step_pairs import OTHERS, any_pipelines
from tests.support.unsupported import (
    IN_BATCHES,
    ONLY_IN_BATCHES,
    ONLY_IN_STREAMS,
    Pairs,
    echo,
    halve,
    names_of_parts,
    pipeline_of,
    retype,
    untyped,
    with_float_keys,
    with_other_default,
    without_lateness,
)

Collections: TypeAlias = Mapping[str, PCollection[object]]
Compile: TypeAlias = Callable[..., object]
Check: TypeAlias = Callable[..., Result[Plan, UnsupportedError]]

TIME: Final = pl.Datetime("us", "UTC")
READING: Final = {"key": pl.String(), "value": pl.Int64(), "at": TIME, "seen": TIME}
FRAMES: Final[dict[Source[object], pl.DataFrame]] = {
    SCORES: pl.DataFrame(schema={"team": pl.String(), "points": pl.Int64(), "at": TIME}),
    READINGS: pl.DataFrame(schema=READING),
    OTHERS: pl.DataFrame(schema=READING),
}
BOUNDED: Final = BoundedOutOfOrderness(timedelta(minutes=1))


def inputs_of(outputs: Collections) -> dict[Source[object], pl.DataFrame]:
    """Returns frames without rows for the sources of outputs."""
    read = {node.name for pipeline in outputs.values() for node in sources_of(pipeline.node)}
    return {source: frame for source, frame in FRAMES.items() if source.name in read}


def compile_batch(outputs: Collections, *, dead_letters: bool = False) -> object:
    """Compiles outputs as a local batch."""
    return batch.compile(outputs, inputs_of(outputs), dead_letters=dead_letters)


def compile_stream(
    outputs: Collections, watermark: WatermarkPolicy = BOUNDED, *, dead_letters: bool = False
) -> object:
    """Compiles outputs as a local stream."""
    streams = {
        source: StreamInput(Frames([frame]), watermark) for source, frame in inputs_of(outputs).items()
    }
    return streaming.batches(outputs, streams, dead_letters=dead_letters)


LOCAL: Final[Mapping[str, tuple[Compile, Check, Check]]] = {
    "batch": (compile_batch, batch.check, flowalg_spark.batch.check),
    "stream": (compile_stream, streaming.check, flowalg_spark.streaming.check),
}
"""How the local engine compiles and checks outputs, and how Spark checks them."""

UNSUPPORTED: Final = {
    "batch": {*IN_BATCHES, *ONLY_IN_BATCHES},
    "stream": {*IN_BATCHES, *ONLY_IN_STREAMS},
}
"""The names of the parts that engines do not run."""


def parts_of(compile_outputs: Compile, **outputs: PCollection[object]) -> list[str]:
    """Returns the messages of all parts that a compilation reports; none if it succeeds."""
    try:
        compile_outputs(outputs)
    except UnsupportedError as error:
        return list(map(str, error.parts))
    return []


def parts_found(check: Check, **outputs: PCollection[object]) -> list[str]:
    """Returns the messages of all parts that a check finds, as the local engine writes them."""
    result = check(outputs)
    found = [] if is_successful(result) else list(map(str, result.failure().parts))
    return [message.replace("Spark needs", "Polars needs") for message in found]


@pytest.mark.parametrize("mode", LOCAL)
@given(st.lists(names_of_parts(), min_size=1, max_size=3), st.booleans())
def test_every_unsupported_part_is_reported_once_and_in_order(
    mode: str, names_of_outputs: list[list[str]], dead_letters: bool
) -> None:
    """The parts of some outputs are those of each of their parts alone, in the order of the pipelines.

    The local engine reports them when it compiles, and its check and that of Spark find the same. Outputs without any
    compile.
    """
    compile_outputs, *checks = LOCAL[mode]
    compile_outputs = partial(compile_outputs, dead_letters=dead_letters)
    names = [name for names_of_output in names_of_outputs for name in names_of_output]
    alone = {name: parts_of(compile_outputs, only=pipeline_of([name])) for name in names}
    assert {name: len(parts) for name, parts in alone.items()} == {
        name: int(name in UNSUPPORTED[mode]) for name in names
    }
    expected = list(dict.fromkeys(part for name in names for part in alone[name]))
    outputs = {f"output {number}": pipeline_of(parts) for number, parts in enumerate(names_of_outputs)}
    assert parts_of(compile_outputs, **outputs) == expected
    for check in checks:
        assert parts_found(partial(check, dead_letters=dead_letters), **outputs) == expected


@pytest.mark.parametrize("mode", LOCAL)
@given(any_pipelines(), st.booleans())
def test_a_check_accepts_the_pipelines_that_compile(
    mode: str, pipeline: PCollection[object], dead_letters: bool
) -> None:
    """It finds nothing in exactly the generated pipelines that compile, and otherwise what the compilation reports."""
    compile_outputs, *checks = LOCAL[mode]
    compile_outputs = partial(compile_outputs, dead_letters=dead_letters)
    expected = parts_of(compile_outputs, only=pipeline)
    for check in checks:
        assert parts_found(partial(check, dead_letters=dead_letters), only=pipeline) == expected


@pytest.mark.parametrize("mode", LOCAL)
@pytest.mark.parametrize("dead_letters", [False, True])
def test_a_check_accepts_all_jobs(mode: str, dead_letters: bool) -> None:
    """It finds nothing in the jobs of the conformance suite, but for the one whose lateness is unset on a stream."""
    checks = [batch.check, flowalg_spark.batch.check]
    if mode == "stream":
        checks = [streaming.check, flowalg_spark.streaming.check]
    for job in JOBS:
        for check in checks:
            accepted = is_successful(check(job.outputs, dead_letters=dead_letters))
            assert accepted is not (mode == "stream" and Feature.UNSET_LATENESS in job.features), job.name


def test_one_unsupported_part_is_its_own_error() -> None:
    """The message of one part is that of the part, which has itself as its only part."""
    with pytest.raises(
        UnsupportedError, match=r"^combine_per_key\(Sum\): keys must not contain floats"
    ) as raised:
        compile_batch({"only": with_float_keys(POINTS)})
    assert raised.value.parts == (raised.value,)


def test_several_unsupported_parts_are_lines_of_one_error() -> None:
    """The message has a line for each part, and a pickled error has the same message and parts."""
    pipeline = with_float_keys(with_other_default(POINTS))
    with pytest.raises(UnsupportedError) as raised:
        compile_batch({"only": pipeline})
    title, *lines = str(raised.value).splitlines()
    assert title == "2 parts of the pipeline are unsupported:"
    parts = enumerate(raised.value.parts, start=1)
    assert lines == [f"  {number}. {part}" for number, part in parts]
    copied = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(copied, UnsupportedError)
    assert (str(copied), list(map(str, copied.parts))) == (
        str(raised.value),
        list(map(str, raised.value.parts)),
    )
    assert UnsupportedError.of(raised.value, *raised.value.parts).parts == raised.value.parts


def test_parts_of_all_outputs_are_reported() -> None:
    """Each output of a run has its parts; one that two outputs share is one part."""
    shared = POINTS.map(halve).combine_per_key(Sum())
    first, second = shared.map(retype), with_other_default(shared.map(retype))
    assert len(parts_of(compile_stream, first=first, second=second)) == 2


UNKNOWN: Final = POINTS.map(halve).combine_per_key(Count())
OUTPUTS: Final = POINTS.map(halve).process(echo(float, int), in_order=True)
UNITED: Final = flatten(
    *cast("tuple[Pairs, Pairs]", (POINTS.map(lambda pair: 0.5), POINTS.map(lambda pair: 1)))
)
CONSEQUENCES: Final[Mapping[str, tuple[PCollection[object], PCollection[object]]]] = {
    "grouping": (UNKNOWN, UNKNOWN.map_values(untyped).combine_per_key(Sum()).map(lambda pair: pair.value)),
    "join": (UNKNOWN, UNKNOWN.inner_join(UNKNOWN).map_values(untyped)),
    "side input": (
        UNKNOWN,
        POINTS.combine_per_key(Sum()).map_with(UNKNOWN.as_map(), lambda pair, counts: counts.get(1.5, 0)),
    ),
    "union": (UNKNOWN, flatten(UNKNOWN, UNKNOWN.filter(lambda pair: pair.value > 1)).map_values(untyped)),
    "computation": (UNKNOWN, UNKNOWN.process(echo(float), in_order=True)),
    "outputs of a computation": (OUTPUTS, OUTPUTS.combine_per_key(Sum())),
    "union of two types": (UNITED, UNITED.map_values(untyped)),
}
"""Pipelines with one part that engines cannot run, and with what follows from it."""


@pytest.mark.parametrize("mode", LOCAL)
@pytest.mark.parametrize("consequence", CONSEQUENCES)
def test_what_follows_from_an_unsupported_part_is_not_one(mode: str, consequence: str) -> None:
    """What reads elements of an unknown type is reported once their type is known."""
    compile_outputs, *checks = LOCAL[mode]
    cause, whole = CONSEQUENCES[consequence]
    expected = parts_of(compile_outputs, only=cause)
    assert len(expected) == 1
    assert parts_of(compile_outputs, only=whole) == expected
    for check in checks:
        assert parts_found(check, only=whole) == expected


@pytest.mark.parametrize("mode", LOCAL)
@pytest.mark.parametrize("windows", [FixedWindows(timedelta(minutes=1)), Sessions(timedelta(minutes=1))])
def test_the_types_after_a_join_are_those_that_engines_have(mode: str, windows: WindowFn) -> None:
    """A part after a join of any kind, whose message has the type of the pairs, is found once."""
    compile_outputs, *checks = LOCAL[mode]
    left = POINTS.window(windows, allowed_lateness=timedelta(0))
    right = left.filter(lambda pair: pair.value > 1)
    joins: list[PCollection[object]] = [
        left.inner_join(right),
        left.left_join(right),
        left.full_join(right),
        left.semi_join(right),
        left.anti_join(right),
        left.except_(right),
    ]
    for joined in joins:
        keyed = joined.key_by(lambda element: (element, 0.5)).combine_per_key(Count())
        expected = parts_of(compile_outputs, only=keyed)
        assert len(expected) == 1
        for check in checks:
            assert parts_found(check, only=keyed) == expected


def test_one_transform_may_have_several_unsupported_parts() -> None:
    """Keys, the result of a combiner and the lateness of windows do not depend on each other."""
    windowed = POINTS.map(halve).window(FixedWindows(timedelta(minutes=1)))
    messages = parts_of(compile_stream, only=windowed.combine_per_key(Sum.of(untyped)))
    reasons = ["must not contain floats", "combiner's result is unknown", "no allowed_lateness"]
    assert all(reason in message for reason, message in zip(reasons, messages, strict=True))


def test_the_watermark_policy_of_a_source_is_a_part() -> None:
    """A policy that a stream does not observe is reported with what follows the source."""
    pipeline = without_lateness(1)(POINTS)
    timeline = Timeline[Score]().at(minute(1), Score("a", 1, NOON), watermark=NOON).end(minute(2))
    generated = Timeline.from_records(
        SCORES, [Score("a", 1, NOON)], processing_time=lambda score: score.at, watermark=Perfect()
    )
    perfect, lateness = parts_of(lambda outputs: compile_stream(outputs, Perfect()), only=pipeline)
    assert perfect.startswith("source 'scores': the watermark policy Perfect needs")
    assert lateness.startswith("combine_per_key(Sum) over fixed windows of a minute has no allowed_lateness")
    assert PolarsStreaming().run(pipeline, {SCORES: timeline}).panes
    observing = PolarsStreaming(generate_watermarks=True)
    messages = parts_of(lambda outputs: observing.run(outputs, {SCORES: generated}), only=pipeline)
    assert messages == [perfect]


def test_an_error_that_only_a_compilation_detects_is_first() -> None:
    """It is before the parts of the plan. A part that the compilation raises has its place, and other errors stay."""
    plan = plan_batch({"output": with_other_default(with_float_keys(POINTS))})
    keys, default = map(str, check_plan(plan, REQUIREMENTS).failure().parts)
    for message, expected in (("no session", ["no session", keys, default]), (default, [keys, default])):
        with pytest.raises(UnsupportedError) as raised, reporting_all_parts(plan, REQUIREMENTS):
            raise UnsupportedError(message)
        assert list(map(str, raised.value.parts)) == expected
    with pytest.raises(FlowalgError, match="^another$"), reporting_all_parts(plan, REQUIREMENTS):
        raise FlowalgError("another")


def test_an_invalid_function_leaves_the_first_error() -> None:
    """A filter that returns no bool is another error, which is raised when it is the first."""
    invalid = with_float_keys(POINTS).filter(lambda pair: pair.key)  # type: ignore[arg-type,return-value]
    with pytest.raises(UnsupportedError, match=r"^combine_per_key\(Sum\): keys must not contain floats"):
        compile_batch({"only": invalid})
    with pytest.raises(ElementError, match="a bool"):
        batch.check(invalid)


def test_outputs_that_mix_panes_with_elements_are_reported_together() -> None:
    """Every output that mixes them is a part, in a compilation and in a check."""
    windows = FixedWindows(timedelta(minutes=1))
    summed, counted = (POINTS.combine_per_key(combiner).window(windows) for combiner in (Sum(), Count()))
    outputs = {
        name: flatten(POINTS.window(windows), panes) for name, panes in (("a", summed), ("b", counted))
    }
    first, second = parts_of(compile_batch, **outputs, clean=POINTS)
    assert first.startswith("the output mixes panes of combine_per_key(Sum) with elements of source scores")
    assert second.startswith("the output mixes panes of combine_per_key(Count)")
    assert parts_found(batch.check, **outputs) == [first, second]


def test_every_function_that_is_not_lifted_is_a_part() -> None:
    """With ``require_lifted``, each function that runs in Python is a part."""
    with pytest.raises(UnsupportedError) as raised:
        batch.compile(POINTS.map(untyped).map(retype), {SCORES: FRAMES[SCORES]}, require_lifted=True)
    assert [str(part).partition(" at ")[0] for part in raised.value.parts] == [
        "require_lifted: map(untyped",
        "require_lifted: map(retype",
    ]
