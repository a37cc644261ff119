"""Groupings over corrected panes: examples that few generated pipelines reach.

Each example states the panes of the reference and compares the shard step with it, for any distribution. A second
grouping observes at once what the first one retracts.
"""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import pytest
from attrs import frozen
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.pipelines import (
    Values,
    count_values,
    group_values,
    keep_positive,
    sum_values,
    take_max,
    use_one_key,
)
from flowalg_laws.strategies.times import point
from flowalg_shard.local import Cluster
from hypothesis import given, settings

from flowalg import (
    Accumulation,
    Always,
    AtCount,
    AtWatermark,
    FixedWindows,
    GlobalWindows,
    Mode,
    OnTimeBehavior,
    Repeat,
    Sessions,
    Timeline,
    TimestampCombiner,
    WindowFn,
    WindowingStrategy,
)
from tests.support.step_pairs import EACH, Pair, Played, averaged, corrected, digest, in_order

DISCARDING, RETRACTING = Accumulation.DISCARDING, Accumulation.RETRACTING
AT_ONCE, EARLY = Repeat(AtCount(1)), AtWatermark().with_early_firings(AtCount(1))
ALWAYS = GlobalWindows()


def minutes(number: int) -> timedelta:
    """A duration of some minutes."""
    return timedelta(minutes=number)


def fixed(number: int) -> WindowFn:
    """Fixed windows of some minutes."""
    return FixedWindows(minutes(number))


def sessions(number: int) -> WindowFn:
    """Sessions with gaps of some minutes."""
    return Sessions(minutes(number))


CORRECTED = sum_values(apply_windowing(VALUES, WindowingStrategy(fixed(1), AT_ONCE, RETRACTING)))
"""The sum of each key and minute, taken back and said anew with each value."""


def played(*instants: tuple[int | None, str]) -> Timeline[Reading]:
    """An instant a minute: the watermark, if it advances, and readings such as ``a4@2``, of ``a``, 4 at minute 2."""
    timeline = Timeline[Reading]()
    for number, (watermark, text) in enumerate(instants):
        readings = [_reading(one, number) for one in text.split()]
        reads = None if watermark is None else point(watermark)
        timeline = timeline.at(point(number), *readings, watermark=reads)
    return timeline


def _reading(text: str, seen: int) -> Reading:
    value, minute = map(int, text[1:].split("@"))
    return Reading(text[0], value, point(minute), point(seen))


def said(pipeline: Values, timeline: Timeline[Reading]) -> list[str]:
    """The panes of the reference, which are those of the step."""
    for cluster in (Cluster(), Cluster(partitions=2, shards=3)):
        for mode in (Mode.MICRO_BATCH, Mode.CONTINUOUS):
            pair = Pair(pipeline, Played.free(timeline, Timeline()), cluster, mode)
            assert pair.difference() == ""
    return [full_line(one) for one in reference.run(pipeline, {READINGS: timeline}).panes]


@frozen
class Example:
    """A claim, and a pipeline over a timeline that shows it."""

    claim: str
    pipeline: Values
    timeline: Timeline[Reading]
    panes: tuple[str, ...]


EXAMPLES = (
    Example(
        "a retraction is no element that AtCount counts",
        count_values(
            apply_windowing(use_one_key(CORRECTED), WindowingStrategy(ALWAYS, Repeat(AtCount(3)), DISCARDING))
        ),
        played((None, "a1@0"), (None, "a1@0"), (None, "a1@0"), (None, "a1@0")),
        ("2: +all=1 always early 0 (first, watermark -)",),
    ),
    Example(
        "a closed session refuses what is inside, and not what comes at its end",
        count_values(apply_windowing(VALUES, WindowingStrategy(sessions(2), AtCount(2)))),
        played((None, "a1@0"), (None, "a1@1"), (None, "a1@3"), (None, "a1@2 a1@4")),
        (
            "1: +a=2 [0, 3) early 0 last (first, watermark -)",
            "3: +a=2 [3, 6) early 0 last (first, watermark -)",
        ),
    ),
    *(
        Example(
            f"asked for always, an on-time pane that has nothing new is an empty {kind}",
            grouping(
                apply_windowing(
                    VALUES,
                    WindowingStrategy(fixed(5), EARLY, DISCARDING, on_time_behavior=OnTimeBehavior.ALWAYS),
                )
            ),
            played((None, "a1@0"), (6, "")),
            (
                "0: +a=1 [0, 5) early 0 (first, watermark -)",
                "1: +a=0 [0, 5) on_time 1 last (watermark 6)",
            ),
        )
        for kind, grouping in (("sum", sum_values), ("list", group_values))
    ),
    Example(
        "and no mean, which there is none of",
        averaged(
            apply_windowing(
                VALUES, WindowingStrategy(fixed(5), EARLY, DISCARDING, on_time_behavior=OnTimeBehavior.ALWAYS)
            )
        ),
        played((None, "a1@0"), (6, "")),
        ("0: +a=60 [0, 5) early 0 (first, watermark -)",),
    ),
    Example(
        "and nothing where all that is new was taken back",
        group_values(
            apply_windowing(
                keep_positive(CORRECTED),
                WindowingStrategy(fixed(9), EARLY, DISCARDING, on_time_behavior=OnTimeBehavior.ALWAYS),
            )
        ),
        played((None, "a1@0"), (20, "a-5@0")),
        ("0: +a=1 [0, 9) early 0 (first, watermark -)",),
    ),
    Example(
        "of several retractions that are all a window has to say, the last is the last",
        count_values(
            apply_windowing(
                use_one_key(keep_positive(CORRECTED)),
                WindowingStrategy(sessions(2), Repeat(AtCount(2)), RETRACTING, minutes(0)),
            )
        ),
        played(
            (None, "a1@0 b1@0"),
            (None, "a1@4 b1@4"),
            (None, "a1@2"),
            (None, "a-2@0 b-2@0 a-2@4 b-2@4 a-2@2"),
            (9, ""),
        ),
        (
            "0: +all=2 [1, 3) early 0 (first, watermark -)",
            "1: +all=2 [5, 7) early 0 (first, watermark -)",
            "4: -all=2 [1, 3) on_time 0 (first, watermark 9)",
            "4: -all=2 [5, 7) on_time 0 last (first, watermark 9)",
        ),
    ),
    Example(
        "a pane that will be taken back holds the watermark at its event time",
        count_values(
            apply_windowing(
                sum_values(
                    apply_windowing(
                        VALUES,
                        WindowingStrategy(
                            fixed(9),
                            Repeat(AtCount(2)),
                            RETRACTING,
                            timestamp_combiner=TimestampCombiner.LATEST,
                        ),
                    )
                ),
                EACH,
            )
        ),
        played((None, "a1@1 a1@2"), (None, "a1@7"), (6, "b1@8 b1@8")),
        (
            "0: +a=1 always early 0 (first, watermark -)",
            "2: +b=1 always early 0 (first, watermark 2)",
        ),
    ),
    *(
        Example(
            f"changes that nothing can be said of yet hold the watermark, {kind}",
            count_values(
                apply_windowing(
                    grouping(
                        apply_windowing(
                            keep_positive(CORRECTED),
                            WindowingStrategy(fixed(9), Repeat(Always()), DISCARDING),
                        )
                    ),
                    EACH,
                )
            ),
            played((None, "a1@1"), (None, "a-5@1"), (20, "b1@21")),
            (
                "0: +a=1 always early 0 (first, watermark -)",
                "2: +b=1 always early 0 (first, watermark 9)",
            ),
        )
        for kind, grouping in (("in columns", averaged), ("as objects", take_max))
    ),
    Example(
        "a retraction takes the one of its own event time from equal values",
        in_order(apply_windowing(CORRECTED, WindowingStrategy(ALWAYS, AT_ONCE))),
        played((None, "a1@0"), (None, "a2@1"), (None, "a1@2"), (None, "a3@2")),
        (
            f"0: +a={digest([1])} always early 0 (first, watermark -)",
            f"1: +a={digest([1, 2])} always early 1 (watermark -)",
            f"2: +a={digest([1, 2, 1])} always early 2 (watermark -)",
            f"3: +a={digest([1, 2, 4])} always early 3 (watermark -)",
        ),
    ),
    Example(
        "values of one time follow each other as they came, whatever partition they came in",
        in_order(apply_windowing(VALUES, WindowingStrategy(ALWAYS, AT_ONCE))),
        played((None, "a1@0 a2@0 a3@0")),
        (f"0: +a={digest([1, 2, 3])} always early 0 (first, watermark -)",),
    ),
    Example(
        "a retraction of what has been discarded waits for its value",
        take_max(apply_windowing(CORRECTED, WindowingStrategy(ALWAYS, AT_ONCE, DISCARDING))),
        played((None, "a1@0"), (None, "a1@0"), (None, "a-1@0")),
        (
            "0: +a=1 always early 0 (first, watermark -)",
            "1: +a=2 always early 1 (watermark -)",
        ),
    ),
    Example(
        "a count of changes may be below nothing",
        count_values(
            apply_windowing(keep_positive(CORRECTED), WindowingStrategy(fixed(9), EARLY, DISCARDING))
        ),
        played((None, "a1@0"), (None, "a-5@0"), (20, "")),
        (
            "0: +a=1 [0, 9) early 0 (first, watermark -)",
            "2: +a=-1 [0, 9) on_time 1 last (watermark 20)",
        ),
    ),
    Example(
        "a mean of changes has no value where as much was taken back as came",
        averaged(apply_windowing(CORRECTED, WindowingStrategy(ALWAYS, AT_ONCE, DISCARDING))),
        played((None, "a1@0"), (None, "a1@0"), (None, "a5@0")),
        ("0: +a=60 always early 0 (first, watermark -)",),
    ),
    Example(
        "sessions that are a grouping's only by descent close one by one, and not for what is inside of them",
        count_values(
            use_one_key(count_values(apply_windowing(VALUES, WindowingStrategy(sessions(2), AtCount(2)))))
        ),
        played((None, "a1@0 a1@1 c1@0 c1@1"), (None, "b1@0 b1@0 d1@0 d1@0")),
        (
            "0: +all=2 [0, 3) early 0 last (first, watermark -)",
            "1: +all=2 [0, 2) early 0 last (first, watermark -)",
        ),
    ),
    Example(
        "a percentile watermark inside of a composed trigger wakes its windows",
        count_values(apply_windowing(VALUES, WindowingStrategy(fixed(2), AtWatermark(0.5) | AtCount(9)))),
        played((None, "a1@1")).at(point(1), percentiles={0.5: point(9)}),
        ("1: +a=1 [0, 2) early 0 last (first, watermark -)",),
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.claim)
def test_the_claim_holds(example: Example) -> None:
    """The claim of each example holds in the reference and in the step."""
    assert said(example.pipeline, example.timeline) == list(example.panes)


@pytest.mark.long
@settings(max_examples=60)
@given(corrected())
def test_the_step_is_the_reference(pair: Pair) -> None:
    """The step has the panes of the reference for any corrections and any second grouping."""
    assert pair.difference() == ""
