"""Tests an interpreter on generated pipelines, against the reference and the batch theorem."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from flowalg import Interpreter, PCollection
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import WindowInto, outline
from flowalg.triggers import describe
from flowalg_laws.conformance.judges import Engine, expected_outcome, failures_of
from flowalg_laws.kit.drawing import format_reading, format_time
from flowalg_laws.kit.readings import READINGS, Reading
from flowalg_laws.kit.replay import Feed, Replay
from flowalg_laws.strategies.pipelines import ALL, batches_of_readings, pipelines, replay_policies

A = TypeVar("A")
F = TypeVar("F")


def replays(capabilities: Capabilities = ALL) -> SearchStrategy[Replay]:
    """Inputs for generated pipelines: micro-batches of readings, late and out of order."""
    partitions: list[str | None] = [None] if Feature.PARTITIONS in capabilities.missing else [None, "key"]

    def build(feed: Feed[Reading], ends: bool) -> Replay:
        return Replay((feed,), ends)

    feeds = st.builds(
        Feed[Reading],
        st.just(READINGS),
        st.just(Reading),
        batches_of_readings(),
        replay_policies(capabilities),
        partition=st.sampled_from(partitions),
    )
    return st.builds(build, feeds, st.sampled_from((True, True, False)))


def check_generated(interpreter: Interpreter, engine: Engine, examples: int) -> str:
    """Returns the smallest failure found in ``examples`` generated supported pipelines as text, or an empty string.

    The current hypothesis profile determines whether the examples are the same each time.
    """

    def failure_of(case: tuple[PCollection[object], Replay]) -> str | None:
        failure = run_failure(interpreter, *case, engine)
        return f"{describe_run(*case)}\n{failure}" if failure else None

    cases = st.tuples(pipelines(engine.capabilities), replays(engine.capabilities))
    return smallest_failure(cases, failure_of, examples) or ""


def run_failure(
    interpreter: Interpreter, pipeline: PCollection[object], replay: Replay, engine: Engine
) -> str:
    """Returns how a run of an interpreter differs from the expected one as text, or an empty string."""
    expected = expected_outcome(pipeline, replay, engine)
    try:
        run = interpreter.run(pipeline, replay.timelines)
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"
    return "\n".join(failures_of(pipeline, replay, run, expected, engine))


def smallest_failure(
    values: SearchStrategy[A], failure_of: Callable[[A], F | None], examples: int, *, seed: int | None = None
) -> F | None:
    """Returns the failure of the smallest value that fails, of ``examples`` generated values; ``None`` if all hold."""
    smallest: F | None = None

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        print_blob=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(values)
    def holds(value: A) -> None:
        nonlocal smallest
        failure = failure_of(value)
        if failure is not None:
            smallest = failure
            raise AssertionError(failure)

    # The last value that fails is the smallest one. A failure that does not happen again is one too.
    with suppress(AssertionError, Flaky):
        (holds if seed is None else seeded(seed)(holds))()
    return smallest


def describe_run(pipeline: PCollection[object], replay: Replay) -> str:
    """Describes a pipeline, its windowing strategies, and the input of its sources."""
    lines = [outline(pipeline.node)]
    for node in nodes_of(pipeline.node):
        if isinstance(node, WindowInto):
            strategy = node.strategy
            lateness = strategy.allowed_lateness
            lines.append(
                f"window: {strategy.windows}, {describe(strategy.trigger)}, {strategy.mode.value}, lateness "
                f"{lateness if isinstance(lateness, timedelta) else 'unlimited'}, "
                f"at the {strategy.timestamp_combiner.value}, on time {strategy.on_time_behavior.value}"
            )
    for feed in replay.feeds:
        lines.append(f"watermark: {feed.policy}{' by partition' if feed.partition else ''}")
        for instant in feed.timeline(ends=replay.ends):
            elements = ", ".join(
                format_reading(element) if isinstance(element, Reading) else repr(element)
                for element in instant.elements
            )
            lines.append(
                f"{format_time(instant.processing_time)}: {elements or 'nothing'}, "
                f"watermark {format_time(instant.watermark)}"
            )
    return "\n".join(dict.fromkeys(lines))
