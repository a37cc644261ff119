"""The laws of windowing strategies: assignment looks at one element alone, and merging knows no order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from flowalg import FixedWindows, SlidingWindows, Window, WindowFn
from flowalg.data.time import EventTime
from flowalg.windows.window import span
from flowalg.windows.window_functions import as_merging
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.law import Law, law

Points = tuple[EventTime, ...]
"""Some event times of one key, in order of arrival."""


@law
def assigned_windows_contain_the_event_time(
    windows: WindowFn, key: str, points: Points
) -> Equation[list[bool]]:
    """``t in w`` for every ``w`` of ``assign(t, key)``.

    Source: Dataflow Model, section 2.2.

    Relied on by: the pane's default event time, which is the last instant of its window.
    """
    inside = [point in window for point in points for window in windows.assign(point, key)]
    return Equation(inside, [True] * len(inside))


@law
def assignment_looks_at_the_element_alone(
    windows: WindowFn, key: str, points: Points
) -> Equation[list[tuple[Window, ...]]]:
    """``assign(t, key)`` is a function: the same whatever was assigned before.

    Source: Dataflow Model, section 2.2.

    Relied on by: engines that assign in parallel, and anew after a failure.
    """
    once = [windows.assign(point, key) for point in points]
    again = [windows.assign(point, key) for point in reversed(points)]
    return Equation(once, again[::-1])


@law
def an_element_has_each_window_once(windows: WindowFn, key: str, points: Points) -> Equation[list[int]]:
    """``assign`` gives a set: no window twice.

    Source: Dataflow Model, section 2.2.

    Relied on by: groupings, which count an element once in each of its windows.
    """
    assigned = [windows.assign(point, key) for point in points]
    return Equation([len(one) for one in assigned], [len(set(one)) for one in assigned])


def _spans(windows: WindowFn, known: Iterable[Window]) -> frozenset[Window]:
    """The windows that some windows have become."""
    merge = as_merging(windows)
    distinct = tuple(dict.fromkeys(known))
    return frozenset(distinct if merge is None else (span(group) for group in merge.merge(distinct)))


def _assigned(windows: WindowFn, key: str, points: Points) -> list[Window]:
    return [window for point in points for window in windows.assign(point, key)]


@law
def merging_knows_no_order(windows: WindowFn, key: str, points: Points) -> Equation[frozenset[Window]]:
    """``merge(W)`` is the same for every order of ``W``.

    Source: Dataflow Model, section 2.2.2; SEMANTICS 13.

    Relied on by: groupings, whose elements come in any order.
    """
    known = _assigned(windows, key, points)
    return Equation(_spans(windows, known), _spans(windows, sorted(known)[::-1]))


@law
def merging_is_idempotent(windows: WindowFn, key: str, points: Points) -> Equation[frozenset[Window]]:
    """``merge(merge(W)) = merge(W)``: what has merged does not merge further.

    Source: SEMANTICS 3 and 13.
    """
    once = _spans(windows, _assigned(windows, key, points))
    return Equation(_spans(windows, once), once)


@law
def merging_may_be_done_bit_by_bit(
    windows: WindowFn, key: str, points: Points, more: Points
) -> Equation[frozenset[Window]]:
    """``merge(merge(V) + W) = merge(V + W)``: associative.

    Source: Dataflow Model, section 2.2.2; SEMANTICS 13.

    Relied on by: streaming, which merges what has come so far at each instant.
    """
    first, second = _assigned(windows, key, points), _assigned(windows, key, more)
    return Equation(_spans(windows, [*_spans(windows, first), *second]), _spans(windows, [*first, *second]))


@law
def a_merged_window_spans_its_parts(windows: WindowFn, key: str, points: Points) -> Equation[list[bool]]:
    """Every event time lies in one window of ``merge(W)`` for each window that it was assigned.

    Where: windows merge.

    Source: Dataflow Model, section 2.2.2.
    """
    if as_merging(windows) is None:
        return Equation([], [])
    spans = _spans(windows, _assigned(windows, key, points))
    covered = [any(point in window for window in spans) for point in points if windows.assign(point, key)]
    return Equation(covered, [True] * len(covered))


WINDOW_LAWS: tuple[Law[..., object], ...] = (
    assigned_windows_contain_the_event_time,
    assignment_looks_at_the_element_alone,
    an_element_has_each_window_once,
    merging_knows_no_order,
    merging_is_idempotent,
    merging_may_be_done_bit_by_bit,
    a_merged_window_spans_its_parts,
)
"""What every windowing strategy keeps, a user's own too."""


@law
def fixed_is_sliding_by_its_size(size: timedelta, points: Points) -> Equation[list[tuple[Window, ...]]]:
    """``FixedWindows(s) = SlidingWindows(s, s)``.

    Source: Dataflow Model, section 1.2.

    Relied on by: engines with one form for both.
    """
    fixed, sliding = FixedWindows(size), SlidingWindows(size, size)
    return Equation(
        [fixed.assign(point, None) for point in points], [sliding.assign(point, None) for point in points]
    )


@law
def sliding_with_gaps_is_fixed_cut_short(
    size: timedelta, points: Points
) -> Equation[list[tuple[Window, ...]]]:
    """``SlidingWindows(s, 2 * s)`` has the first half of every window of ``FixedWindows(2 * s)``, and gaps between.

    Source: found here.
    """
    period = size * 2
    cut = [tuple(w for w in SlidingWindows(size, period).assign(point, None)) for point in points]
    whole = FixedWindows(period)
    wanted: list[tuple[Window, ...]] = []
    for one in points:
        (window,) = whole.assign(one, None)
        inside = one < window.start + size // timedelta(microseconds=1)
        wanted.append(
            (Window.of(window.start, EventTime(window.start + size // timedelta(microseconds=1))),)
            if inside
            else ()
        )
    return Equation(cut, wanted)


SIZE_LAWS: tuple[Law[..., object], ...] = (fixed_is_sliding_by_its_size, sliding_with_gaps_is_fixed_cut_short)
"""How the built-in strategies relate."""

__all__ = ["SIZE_LAWS", "WINDOW_LAWS", "Points"]
