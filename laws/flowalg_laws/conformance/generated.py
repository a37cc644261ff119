"""Generated pipelines with replays, and an interpreter held to the reference and to the batch theorem on them."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import PCollection, describe
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import WindowInto, outline
from flowalg_laws.conformance.jobs.replay import Feed, Replay
from flowalg_laws.conformance.judges import Engine, due, faults
from flowalg_laws.conformance.outcome import Runner
from flowalg_laws.kit.drawing import format_reading, format_time
from flowalg_laws.kit.readings import READINGS, Reading
from flowalg_laws.strategies.pipelines import ALL, batches_of_readings, pipelines, replay_policies


def replays(capabilities: Capabilities = ALL) -> SearchStrategy[Replay]:
    """What the source of generated pipelines did: a few micro-batches of readings, late and out of order."""
    partitions: list[str | None] = [None] if Feature.PARTITIONS in capabilities.missing else [None, "key"]

    def made(feed: Feed[Reading], ends: bool) -> Replay:
        return Replay((feed,), ends)

    feeds = st.builds(
        Feed[Reading],
        st.just(READINGS),
        st.just(Reading),
        batches_of_readings(),
        replay_policies(capabilities),
        partition=st.sampled_from(partitions),
    )
    return st.builds(made, feeds, st.sampled_from((True, True, False)))


def check_generated(run: Runner, capabilities: Capabilities, engine: Engine, examples: int) -> str:
    """The smallest fault found in ``examples`` generated pipelines that the interpreter supports, as text, or nothing.

    Which are tried follows the profile of hypothesis in force: the same ones each time, or new ones.
    """

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        print_blob=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(pipelines(capabilities), replays(capabilities))
    def holds(pipeline: PCollection[object], replay: Replay) -> None:
        wanted = due(pipeline, replay, engine)
        try:
            outcome = run(pipeline, replay)
        except Exception as error:
            wrong = f"raised {type(error).__name__}: {error}"
        else:
            wrong = "\n".join(faults(pipeline, replay, outcome, wanted, engine))
        if wrong:
            raise AssertionError(f"{described(pipeline, replay)}\n{wrong}")

    try:
        holds()
    except AssertionError as failure:
        return str(failure)
    return ""


def described(pipeline: PCollection[object], replay: Replay) -> str:
    """A pipeline, each of its windowing strategies, and what its sources did, for a person to read."""
    lines = [outline(pipeline.node)]
    for node in nodes_of(pipeline.node):
        if isinstance(node, WindowInto):
            strategy = node.strategy
            lateness = strategy.allowed_lateness
            lines.append(
                f"window: {strategy.windows}, {describe(strategy.trigger)}, {strategy.accumulation.value}, lateness "
                f"{lateness if isinstance(lateness, timedelta) else 'without end'}, "
                f"at the {strategy.timestamp_combiner.value}, on time {strategy.on_time_behavior.value}"
            )
    for feed in replay.feeds:
        lines.append(f"watermark: {feed.policy}{' by partition' if feed.partition else ''}")
        for instant in feed.timeline(ends=replay.ends):
            seen = ", ".join(
                format_reading(one) if isinstance(one, Reading) else repr(one) for one in instant.elements
            )
            lines.append(
                f"{format_time(instant.processing_time)}: {seen or 'nothing'}, "
                f"watermark {format_time(instant.watermark)}"
            )
    return "\n".join(dict.fromkeys(lines))


__all__ = ["check_generated", "described", "replays"]
