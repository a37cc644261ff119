"""Groupings over corrected panes: examples that few generated pipelines reach.

Each example has the panes of the reference and compares the shard step with it, for any distribution. A second
grouping receives the retractions of the first.
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
    digest,
    group_values,
    keep_positive,
    sum_values,
    take_max,
    use_one_key,
)
from flowalg_laws.strategies.times import point
from flowalg_polars import Cluster
from hypothesis import given, settings

from flowalg import (
    Accumulation,
    AtCount,
    AtWatermark,
    FixedWindows,
    GlobalWindows,
    Mode,
    Repeat,
    Sessions,
    Timeline,
)
from flowalg.triggers import Always
from flowalg.windows import OnTimeBehavior, TimestampCombiner, WindowFn, WindowingStrategy
from tests.support.chains import Chain, chains
from tests.support.step_pairs import EACH, Inputs, Pair, correction_pairs, take_mean

DISCARDING, RETRACTING = Accumulation.DISCARDING, Accumulation.RETRACTING
AT_ONCE, EARLY = Repeat(AtCount(1)), AtWatermark().with_early_firings(AtCount(1))
ALWAYS = GlobalWindows()


def minutes(number: int) -> timedelta:
    """Returns a duration of some minutes."""
    return timedelta(minutes=number)


def fixed(number: int) -> WindowFn:
    """Returns fixed windows of some minutes."""
    return FixedWindows(minutes(number))


def sessions(number: int) -> WindowFn:
    """Returns sessions with gaps of some minutes."""
    return Sessions(minutes(number))


CORRECTED = sum_values(apply_windowing(VALUES, WindowingStrategy(fixed(1), AT_ONCE, RETRACTING)))
"""The sum of each key and minute, retracted and emitted again with each value."""


def timeline_of(*instants: tuple[int | None, str]) -> Timeline[Reading]:
    """Returns a timeline of watermarks and readings, one instant a minute: ``a4@2`` is 4 of ``a`` at minute 2."""
    timeline = Timeline[Reading]()
    for number, (watermark, text) in enumerate(instants):
        readings = [_reading(reading, number) for reading in text.split()]
        advanced = None if watermark is None else point(watermark)
        timeline = timeline.at(point(number), *readings, watermark=advanced)
    return timeline


def _reading(text: str, arrival: int) -> Reading:
    value, minute = map(int, text[1:].split("@"))
    return Reading(text[0], value, point(minute), point(arrival))


def panes_of(pipeline: Values, timeline: Timeline[Reading]) -> list[str]:
    """Returns the panes of the reference, after comparing the step with it."""
    for cluster in (Cluster(), Cluster(partitions=2, shards=3)):
        for mode in (Mode.MICRO_BATCH, Mode.CONTINUOUS):
            pair = Pair(pipeline, Inputs.of_timelines(timeline, Timeline()), cluster, mode)
            assert pair.difference() == ""
    return [full_line(pane) for pane in reference.run(pipeline, {READINGS: timeline}).panes]


@frozen
class Example:
    """A claim, with a pipeline and a timeline that show it."""

    claim: str
    pipeline: Values
    timeline: Timeline[Reading]
    panes: tuple[str, ...]


EXAMPLES = (
    Example(
        "AtCount counts retractions",
        count_values(
            apply_windowing(use_one_key(CORRECTED), WindowingStrategy(ALWAYS, Repeat(AtCount(3)), DISCARDING))
        ),
        timeline_of((None, "a1@0"), (None, "a1@0"), (None, "a1@0"), (None, "a1@0")),
        (
            "1: +all=1 always early 0 (first, watermark -)",
            "3: +all=0 always early 1 (watermark -)",
        ),
    ),
    Example(
        "a closed session drops elements inside of it, but not at its end",
        count_values(apply_windowing(VALUES, WindowingStrategy(sessions(2), AtCount(2)))),
        timeline_of((None, "a1@0"), (None, "a1@1"), (None, "a1@3"), (None, "a1@2 a1@4")),
        (
            "1: +a=2 [0, 3) early 0 last (first, watermark -)",
            "3: +a=2 [3, 6) early 0 last (first, watermark -)",
        ),
    ),
    *(
        Example(
            f"with OnTimeBehavior.ALWAYS, an on-time pane without changes is an empty {kind}",
            grouping(
                apply_windowing(
                    VALUES,
                    WindowingStrategy(fixed(5), EARLY, DISCARDING, on_time_behavior=OnTimeBehavior.ALWAYS),
                )
            ),
            timeline_of((None, "a1@0"), (6, "")),
            (
                f"0: +a={one} [0, 5) early 0 (first, watermark -)",
                "1: +a=0 [0, 5) on_time 1 last (watermark 6)",
            ),
        )
        for kind, grouping, one in (("sum", sum_values, 1), ("list", group_values, digest([1])))
    ),
    Example(
        "OnTimeBehavior.ALWAYS emits no on-time pane for a mean without values",
        take_mean(
            apply_windowing(
                VALUES, WindowingStrategy(fixed(5), EARLY, DISCARDING, on_time_behavior=OnTimeBehavior.ALWAYS)
            )
        ),
        timeline_of((None, "a1@0"), (6, "")),
        ("0: +a=60 [0, 5) early 0 (first, watermark -)",),
    ),
    Example(
        "OnTimeBehavior.ALWAYS emits no on-time pane if all pending values were retracted",
        group_values(
            apply_windowing(
                keep_positive(CORRECTED),
                WindowingStrategy(fixed(9), EARLY, DISCARDING, on_time_behavior=OnTimeBehavior.ALWAYS),
            )
        ),
        timeline_of((None, "a1@0"), (20, "a-5@0")),
        (f"0: +a={digest([1])} [0, 9) early 0 (first, watermark -)",),
    ),
    Example(
        "OnTimeBehavior.ALWAYS emits no on-time pane for an accumulating sum whose values have all been retracted",
        sum_values(
            apply_windowing(
                keep_positive(CORRECTED),
                WindowingStrategy(
                    fixed(9),
                    AtWatermark().with_early_firings(Always()),
                    Accumulation.ACCUMULATING,
                    on_time_behavior=OnTimeBehavior.ALWAYS,
                ),
            )
        ),
        timeline_of((None, "a1@0"), (None, "a-5@0"), (20, "")),
        ("0: +a=1 [0, 9) early 0 (first, watermark -)",),
    ),
    Example(
        "if a window emits several retractions and no value, its last retraction is its last pane",
        count_values(
            apply_windowing(
                use_one_key(keep_positive(CORRECTED)),
                WindowingStrategy(sessions(2), Repeat(AtCount(2)), RETRACTING, minutes(0)),
            )
        ),
        timeline_of(
            (None, "a1@0 b1@0"),
            (None, "a1@4 b1@4"),
            (None, "a1@2"),
            (9, "a-2@0 b-2@0 a-2@4 b-2@4 a-2@2"),
        ),
        (
            "0: +all=2 [1, 3) early 0 (first, watermark -)",
            "1: +all=2 [5, 7) early 0 (first, watermark -)",
            "3: -all=2 [1, 3) on_time 0 (first, watermark 9)",
            "3: -all=2 [5, 7) on_time 0 last (first, watermark 9)",
        ),
    ),
    Example(
        "a session comes apart when the element that joined it is retracted: its pane is retracted at once, and its "
        "parts start again; bounds that come again continue their indices",
        count_values(
            apply_windowing(keep_positive(CORRECTED), WindowingStrategy(sessions(2), AT_ONCE, RETRACTING))
        ),
        timeline_of((None, "a5@0 a5@2 a5@4"), (None, "a-5@2"), (None, "a9@2")),
        (
            "0: +a=3 [1, 7) early 0 (first, watermark -)",
            "1: +a=1 [1, 3) early 0 (first, watermark -)",
            "1: -a=3 [1, 7) early 0 (first, watermark -)",
            "1: +a=1 [5, 7) early 0 (first, watermark -)",
            "2: -a=1 [1, 3) early 0 (first, watermark -)",
            "2: -a=1 [5, 7) early 0 (first, watermark -)",
            "2: +a=3 [1, 7) early 1 (watermark -)",
        ),
    ),
    Example(
        "the parts of a session that has come apart observe all that they hold, since they began",
        count_values(
            apply_windowing(
                keep_positive(CORRECTED), WindowingStrategy(sessions(2), Repeat(AtCount(2)), RETRACTING)
            )
        ),
        timeline_of((None, "a5@0 a5@1 a5@3"), (None, "a5@5"), (None, "a-5@3")),
        (
            "0: +a=3 [1, 6) early 0 (first, watermark -)",
            "2: +a=2 [1, 4) early 0 (first, watermark -)",
            "2: -a=3 [1, 6) early 0 (first, watermark -)",
        ),
    ),
    Example(
        "a part that is complete is late, and if it has expired, it is flushed and freed at once",
        count_values(
            apply_windowing(
                keep_positive(CORRECTED),
                WindowingStrategy(sessions(2), AT_ONCE, RETRACTING, minutes(1)),
            )
        ),
        timeline_of((None, "a5@0 a5@2 a5@4"), (4, ""), (None, "a-5@2"), (6, "a1@0")),
        (
            "0: +a=3 [1, 7) early 0 (first, watermark -)",
            "2: +a=1 [1, 3) late 0 last (first, watermark 4)",
            "2: -a=3 [1, 7) early 0 (first, watermark 4)",
            "2: +a=1 [5, 7) early 0 (first, watermark 4)",
        ),
    ),
    Example(
        "under DISCARDING a session comes apart when the change that emptied its joint has been emitted",
        count_values(
            apply_windowing(keep_positive(CORRECTED), WindowingStrategy(sessions(2), AT_ONCE, DISCARDING))
        ),
        timeline_of((None, "a5@0 a5@2 a5@4"), (None, "a-5@2"), (None, "a1@0"), (None, "a1@4")),
        (
            "0: +a=3 [1, 7) early 0 (first, watermark -)",
            "1: +a=-1 [1, 7) early 1 (watermark -)",
            "2: +a=0 [1, 3) early 0 (first, watermark -)",
            "3: +a=0 [5, 7) early 0 (first, watermark -)",
        ),
    ),
    Example(
        "a pane with a pending retraction holds the watermark at its event time",
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
        timeline_of((None, "a1@1 a1@2"), (None, "a1@7"), (6, "b1@8 b1@8")),
        (
            "0: +a=1 always early 0 (first, watermark -)",
            "2: +b=1 always early 0 (first, watermark 2)",
        ),
    ),
    *(
        Example(
            f"changes that cannot be emitted yet hold the watermark, {kind}",
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
            timeline_of((None, "a1@1"), (None, "a-5@1"), (20, "b1@21")),
            (
                "0: +a=1 always early 0 (first, watermark -)",
                "2: +b=1 always early 0 (first, watermark 9)",
            ),
        )
        for kind, grouping in (("in columns", take_mean), ("as objects", take_max))
    ),
    Example(
        "of equal values, a retraction removes that of its own event time",
        group_values(apply_windowing(CORRECTED, WindowingStrategy(ALWAYS, AT_ONCE))),
        timeline_of((None, "a1@0"), (None, "a2@1"), (None, "a1@2"), (None, "a3@2")),
        (
            f"0: +a={digest([1])} always early 0 (first, watermark -)",
            f"1: -a={digest([1])} always early 0 (first, watermark -)",
            f"1: +a={digest([1, 2])} always early 1 (watermark -)",
            f"2: -a={digest([1, 2])} always early 1 (watermark -)",
            f"2: +a={digest([1, 2, 1])} always early 2 (watermark -)",
            f"3: -a={digest([1, 2, 1])} always early 2 (watermark -)",
            f"3: +a={digest([1, 2, 4])} always early 3 (watermark -)",
        ),
    ),
    Example(
        "values of one event time are in the order of the values, whatever their partitions and arrival",
        group_values(apply_windowing(VALUES, WindowingStrategy(ALWAYS, AT_ONCE))),
        timeline_of((None, "a3@0 a1@0 a2@0")),
        (f"0: +a={digest([1, 2, 3])} always early 0 (first, watermark -)",),
    ),
    Example(
        "a retraction of a discarded value waits for a value to retract",
        take_max(apply_windowing(CORRECTED, WindowingStrategy(ALWAYS, AT_ONCE, DISCARDING))),
        timeline_of((None, "a1@0"), (None, "a1@0"), (None, "a-1@0")),
        (
            "0: +a=1 always early 0 (first, watermark -)",
            "1: +a=2 always early 1 (watermark -)",
        ),
    ),
    Example(
        "a count of discarded panes may be negative",
        count_values(
            apply_windowing(keep_positive(CORRECTED), WindowingStrategy(fixed(9), EARLY, DISCARDING))
        ),
        timeline_of((None, "a1@0"), (None, "a-5@0"), (20, "")),
        (
            "0: +a=1 [0, 9) early 0 (first, watermark -)",
            "1: +a=-1 [0, 9) early 1 (watermark -)",
        ),
    ),
    Example(
        "a mean of as many retractions as values has no value",
        take_mean(apply_windowing(CORRECTED, WindowingStrategy(ALWAYS, AT_ONCE, DISCARDING))),
        timeline_of((None, "a1@0"), (None, "a1@0"), (None, "a5@0")),
        ("0: +a=60 always early 0 (first, watermark -)",),
    ),
    Example(
        "sessions from an earlier grouping close one by one, and do not drop elements inside of them",
        count_values(
            use_one_key(count_values(apply_windowing(VALUES, WindowingStrategy(sessions(2), AtCount(2)))))
        ),
        timeline_of((None, "a1@0 a1@1 c1@0 c1@1"), (None, "b1@0 b1@0 d1@0 d1@0")),
        (
            "0: +all=2 [0, 3) early 0 last (first, watermark -)",
            "1: +all=2 [0, 2) early 0 last (first, watermark -)",
        ),
    ),
    Example(
        "a percentile watermark inside a composite trigger evaluates its windows",
        count_values(apply_windowing(VALUES, WindowingStrategy(fixed(2), AtWatermark(0.5) | AtCount(9)))),
        timeline_of((None, "a1@1")).at(point(1), percentiles={0.5: point(9)}),
        ("1: +a=1 [0, 2) early 0 last (first, watermark -)",),
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.claim)
def test_the_claim_of_each_example_holds(example: Example) -> None:
    """The claim of each example holds in the reference and in the step."""
    assert panes_of(example.pipeline, example.timeline) == list(example.panes)


@given(chains())
def test_chains_converge(chain: Chain) -> None:
    """The current panes of two and three groupings are the result of plain Python, on the reference and on the step."""
    assert chain.difference() == ""


@pytest.mark.long
@settings(max_examples=2 * settings().max_examples)
@given(correction_pairs())
def test_the_step_equals_the_reference_on_corrections(pair: Pair) -> None:
    """The step has the panes of the reference for any corrections and any second grouping."""
    assert pair.difference() == ""
