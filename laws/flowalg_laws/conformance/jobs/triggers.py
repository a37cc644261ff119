"""Jobs about triggers: each trigger, and each way to compose triggers.

Where a trigger waits for a processing time there is a micro-batch at that time. So continuous and micro-batch engines
emit the same panes.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from flowalg import AtCount, AtPeriod, AtWatermark, BoundedOutOfOrderness, Mean, SequenceOf, Sum, Window
from flowalg.data.time import event_time
from flowalg.runs import Signal
from flowalg.triggers import (
    AfterDelay,
    AfterInactivity,
    Always,
    Arrivals,
    AtElement,
    AtMeasure,
    AtSignal,
    AtValue,
    CustomTrigger,
    Never,
    RepeatUntil,
    Trigger,
    TriggerClocks,
)
from flowalg_laws.conformance.jobs.feeds import LINES, SOME, feed, sum_in_windows, sums_in_fives
from flowalg_laws.conformance.jobs.job import Job, job
from flowalg_laws.kit.readings import Reading
from flowalg_laws.kit.replay import Feed
from flowalg_laws.strategies.times import point

MINUTE = timedelta(minutes=1)
SOME_SIGNALLED = feed(
    *LINES,
    signals={
        1: frozenset({Signal("go", "a"), Signal("other", "b")}),
        4: frozenset({Signal("go", "b", Window(event_time(point(5)), event_time(point(10))))}),
    },
)
SIGNALLED = feed(*LINES, signals={1: frozenset({"go"}), 3: frozenset({"other"}), 4: frozenset({"go"})})
OUTRUN = feed(*LINES, policy=BoundedOutOfOrderness(5 * MINUTE, lag_percentiles=(0.5,)))


def of_trigger(
    name: str, statement: str, trigger: Trigger, panes: str, feed: Feed[Reading] = SOME, drops: str = ""
) -> Job:
    """Makes a job for a trigger: sums in windows of five minutes."""
    return job(sum_in_windows(trigger), feed, panes=panes, drops=drops, name=name, statement=statement)(
        sums_in_fives
    )


def large(value: int) -> bool:
    """Returns whether a value is large."""
    return value > 4


def size(value: int) -> int:
    """Returns the value, as its measure."""
    return value


def above_three(mean: float) -> bool:
    """Returns whether a mean is above three."""
    return mean > 3


def is_one(total: int) -> bool:
    """Returns whether a sum is one."""
    return total == 1


def is_even(total: int) -> bool:
    """Returns whether a sum is even."""
    return total % 2 == 0


def plus(total: int, value: int) -> int:
    """Adds a value to a sum, or two sums."""
    return total + value


def at_once_if_large(total: int, arrivals: Arrivals) -> datetime:
    """Returns when a sum is due: a large one when it arrives, a small one a minute after its first value."""
    return arrivals.last if large(total) else arrivals.first + MINUTE


def is_due(total: int, clocks: TriggerClocks) -> bool:
    """Returns whether a sum is due."""
    return clocks.processing_time >= at_once_if_large(total, clocks.arrivals)


JOBS = (
    of_trigger(
        "the watermark, then the watermark",
        "A sequence whose second part is ready at once fires again in the next instant, and then finishes.",
        AtWatermark() >> AtWatermark(),
        panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1 last
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
        drops="14: 1 of a [0, 5) closed",
    ),
    of_trigger(
        "the watermark and itself",
        "A meet is idempotent.",
        (AtWatermark() & AtWatermark()).repeat(),
        panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "the watermark or itself",
        "A join is idempotent.",
        (AtWatermark() | AtWatermark()).repeat(),
        panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "until the watermark",
        "A limit that is ready at once leaves one pane.",
        AtWatermark().repeat().until(AtWatermark()),
        panes="""
        12: +a=4 [0, 5) on_time 0 last
        12: +b=2 [0, 5) on_time 0 last
        14: +a=5 [5, 10) on_time 0 last
        14: +b=11 [5, 10) on_time 0 last
        14: +b=8 [10, 15) on_time 0 last
    """,
        drops="""
            13: 1 of a [0, 5) closed
            14: 1 of a [0, 5) closed
        """,
    ),
    of_trigger(
        "the median watermark",
        "A percentile watermark does not wait for the slowest elements, so panes are early.",
        AtWatermark(0.5).repeat(),
        panes="""
        12: +a=4 [0, 5) early 0
        12: +b=2 [0, 5) early 0
        13: +a=10 [0, 5) early 1
        14: +a=19 [0, 5) on_time 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
        feed=OUTRUN,
    ),
    of_trigger(
        "a percentile that the source does not report",
        "A percentile watermark that the source does not report equals the watermark.",
        AtWatermark(0.5).repeat(),
        panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "every two elements",
        "A count is reset when it fires.",
        AtCount(2).repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        13: +b=11 [5, 10) early 0
        14: +a=19 [0, 5) late 1
        14: +b=2 [0, 5) late 0
        14: +a=5 [5, 10) late 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "every four points",
        "A measure sums the results of a function over the values.",
        AtMeasure(size, 4).repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        11: +b=4 [5, 10) early 0
        12: +a=5 [5, 10) early 0
        13: +a=10 [0, 5) late 1
        13: +b=11 [5, 10) early 1
        14: +a=19 [0, 5) late 2
        14: +b=8 [10, 15) early 0
        14: +b=2 [0, 5) late 0
    """,
    ),
    of_trigger(
        "at every large value",
        "A predicate tests single values.",
        AtElement(large).repeat(),
        panes="""
        12: +a=5 [5, 10) early 0
        13: +a=10 [0, 5) late 0
        13: +b=11 [5, 10) early 0
        14: +a=19 [0, 5) late 1
        14: +b=8 [10, 15) early 0
        14: +b=2 [0, 5) late 0
    """,
    ),
    of_trigger(
        "every two minutes",
        "Periods are aligned to the clock, not to the first element.",
        AtPeriod(2 * MINUTE).repeat(),
        panes="""
        10: +a=1 [0, 5) early 0
        10: +b=2 [0, 5) early 0
        12: +a=4 [0, 5) on_time 1
        12: +a=5 [5, 10) early 0
        12: +b=4 [5, 10) early 0
        14: +a=19 [0, 5) late 2
        14: +b=11 [5, 10) on_time 1
        14: +b=8 [10, 15) early 0
    """,
    ),
    of_trigger(
        "a minute after the first element",
        "Delays count from the first element since the last firing.",
        AfterDelay(MINUTE).repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        11: +b=2 [0, 5) early 0
        12: +b=4 [5, 10) early 0
        13: +a=5 [5, 10) early 0
        14: +a=19 [0, 5) late 1
        14: +b=11 [5, 10) on_time 1
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "a minute after the last element",
        "Each element moves the deadline of a gap, also one that arrives exactly at it.",
        AfterInactivity(MINUTE).repeat(),
        panes="""
        11: +b=2 [0, 5) early 0
        12: +a=4 [0, 5) on_time 0
        12: +b=4 [5, 10) early 0
        13: +a=5 [5, 10) early 0
        14: +b=11 [5, 10) on_time 1
        14: +a=19 [0, 5) late 1
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "when a mean crosses its bound",
        "A trigger on the aggregate observes the combined value of the elements since it was set.",
        AtValue(Mean(), above_three).repeat(),
        panes="""
        11: +b=4 [5, 10) early 0
        12: +a=5 [5, 10) early 0
        13: +a=10 [0, 5) late 0
        13: +b=11 [5, 10) early 1
        14: +a=19 [0, 5) late 1
        14: +b=8 [10, 15) early 0
        14: +b=2 [0, 5) late 0
    """,
    ),
    of_trigger(
        "a sum that was one, and the watermark",
        "A predicate of the aggregate latches: that it holds no longer has no effect.",
        (AtValue(Sum(), is_one) & AtWatermark()).repeat(),
        panes="""
        12: +a=4 [0, 5) on_time 0
        14: +a=19 [0, 5) late 1
        14: +b=2 [0, 5) late 0
        14: +a=5 [5, 10) late 0
        14: +b=11 [5, 10) late 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "when a user-defined summary is even",
        "A user-defined trigger is a monoid of summaries and a predicate, evaluated once in each instant.",
        CustomTrigger(zero=0, add=plus, merge=plus, ready=is_even).repeat(),
        panes="""
        10: +b=2 [0, 5) early 0
        11: +a=4 [0, 5) early 0
        11: +b=4 [5, 10) early 0
        13: +a=10 [0, 5) late 1
        14: +b=8 [10, 15) early 0
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) late 0
        14: +b=11 [5, 10) late 1
    """,
    ),
    of_trigger(
        "large sums at once, small ones after a minute",
        "A user-defined trigger says when it is due, and is not ready before.",
        CustomTrigger(zero=0, add=plus, merge=plus, ready=is_due, due=at_once_if_large).repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        11: +b=2 [0, 5) early 0
        12: +a=5 [5, 10) early 0
        12: +b=4 [5, 10) early 0
        13: +a=10 [0, 5) late 1
        13: +b=11 [5, 10) early 1
        14: +a=19 [0, 5) late 2
        14: +b=8 [10, 15) early 0
    """,
    ),
    of_trigger(
        "when a signal arrives",
        "A signal with that name reaches every live window; other signals have no effect.",
        AtSignal("go").repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        11: +b=2 [0, 5) early 0
        11: +b=4 [5, 10) early 0
        14: +a=19 [0, 5) late 1
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 1
        14: +b=8 [10, 15) early 0
    """,
        feed=SIGNALLED,
    ),
    of_trigger(
        "when a signal to a key or a window arrives",
        "A signal to a key reaches the windows of that key, and one to a window only that window.",
        AtSignal("go").repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        14: +b=11 [5, 10) on_time 0
        14: +a=19 [0, 5) late 1
        14: +b=2 [0, 5) late 0
        14: +a=5 [5, 10) late 0
        14: +b=8 [10, 15) on_time 0
    """,
        feed=SOME_SIGNALLED,
    ),
    of_trigger(
        "never",
        "Unemitted elements are emitted at the end.",
        Never().repeat(),
        panes="""
        14: +a=19 [0, 5) late 0
        14: +b=2 [0, 5) late 0
        14: +a=5 [5, 10) late 0
        14: +b=11 [5, 10) late 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "at every change",
        "A pane whenever a window has changed.",
        Always().repeat(),
        panes="""
        10: +a=1 [0, 5) early 0
        10: +b=2 [0, 5) early 0
        11: +a=4 [0, 5) early 1
        11: +b=4 [5, 10) early 0
        12: +a=5 [5, 10) early 0
        13: +a=10 [0, 5) late 2
        13: +b=11 [5, 10) early 1
        14: +a=19 [0, 5) late 3
        14: +b=8 [10, 15) early 0
    """,
    ),
    of_trigger(
        "both of two triggers",
        "A meet is ready when both parts are: two elements, and a minute has passed.",
        (AtCount(2) & AfterDelay(MINUTE)).repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        13: +b=11 [5, 10) early 0
        14: +a=19 [0, 5) late 1
        14: +b=2 [0, 5) late 0
        14: +a=5 [5, 10) late 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "either of two triggers",
        "A join is ready when either part is: two elements, or the watermark.",
        (AtCount(2) | AtWatermark()).repeat(),
        panes="""
        11: +a=4 [0, 5) early 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        13: +b=11 [5, 10) early 0
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "first the watermark, then every element",
        "A sequence runs its parts one after the other.",
        SequenceOf(AtWatermark(), AtCount(1).repeat()),
        panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    of_trigger(
        "early, on time and late",
        "Early firings until the watermark passes, and late firings after it.",
        AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
        panes="""
        10: +a=1 [0, 5) early 0
        10: +b=2 [0, 5) early 0
        11: +a=4 [0, 5) early 1
        11: +b=4 [5, 10) early 0
        12: +a=5 [5, 10) early 0
        13: +a=10 [0, 5) late 2
        13: +b=11 [5, 10) early 1
        14: +a=19 [0, 5) late 3
        14: +b=8 [10, 15) early 0
    """,
    ),
    of_trigger(
        "two elements, until the fourth",
        "A limit observes all elements from the start, across firings; when it is ready, the window closes.",
        RepeatUntil(AtCount(2), AtCount(4)),
        panes="""
        11: +a=4 [0, 5) early 0
        13: +b=11 [5, 10) early 0
        14: +a=19 [0, 5) late 1 last
        14: +b=2 [0, 5) late 0
        14: +a=5 [5, 10) late 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
)
