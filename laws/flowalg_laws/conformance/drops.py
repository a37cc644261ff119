"""Groups of dropped elements, by which the drops of different interpreters are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import frozen

from flowalg import ProcessingTime, Window
from flowalg.runs import Drop, DropReason


@frozen
class DropGroup:
    """A group of dropped elements: the time at which they were dropped, their key, window and reason.

    An element that is not a pair is its own key.
    """

    time: ProcessingTime
    key: object
    window: Window
    reason: DropReason


def count_drops(drops: Iterable[Drop]) -> Mapping[DropGroup, int]:
    """Returns the number of dropped elements of each group, whether each drop is of one or of several."""
    counts: Counter[DropGroup] = Counter()
    for drop in drops:
        counts[DropGroup(drop.processing_time, drop.key, drop.window, drop.reason)] += drop.count
    return counts
