"""Laws of window functions: assignment depends only on the element, and merging does not depend on order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from flowalg import FixedWindows, SlidingWindows, Window
from flowalg.data.time import EventTime
from flowalg.windows import WindowFn
from flowalg.windows.window_functions import as_merging, assign_windows, merged_windows
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.law import Law, law

Points = tuple[EventTime, ...]
"""Event times of one key, in order of arrival."""


def _windows(windows: WindowFn, point: EventTime, key: str) -> tuple[Window, ...]:
    """Returns the windows of an element without a value."""
    return assign_windows(windows, point, key, None)


@law
def assigned_windows_contain_the_event_time(
    windows: WindowFn, key: str, points: Points
) -> Equation[list[bool]]:
    """``t in w`` for every ``w`` in ``assign(t, key)``.

    Source: Dataflow Model, section 2.2.

    Relied on by: the default event time of a pane, which is the last instant of its window.
    """
    inside = [point in window for point in points for window in _windows(windows, point, key)]
    return Equation(inside, [True] * len(inside))


@law
def assignment_depends_only_on_the_element(
    windows: WindowFn, key: str, points: Points
) -> Equation[list[tuple[Window, ...]]]:
    """``assign(t, key)`` is a function: it does not depend on earlier calls.

    Source: Dataflow Model, section 2.2.

    Relied on by: engines that assign windows in parallel, and again after a failure.
    """
    once = [_windows(windows, point, key) for point in points]
    again = [_windows(windows, point, key) for point in reversed(points)]
    return Equation(once, again[::-1])


@law
def assigned_windows_are_distinct(windows: WindowFn, key: str, points: Points) -> Equation[list[int]]:
    """``assign`` returns distinct windows.

    Source: Dataflow Model, section 2.2.

    Relied on by: groupings, which count an element once in each of its windows.
    """
    assigned = [_windows(windows, point, key) for point in points]
    return Equation([len(of_point) for of_point in assigned], [len(set(of_point)) for of_point in assigned])


def _spans(windows: WindowFn, assigned: Iterable[Window]) -> frozenset[Window]:
    """Returns the windows after merging."""
    merge = as_merging(windows)
    distinct = tuple(dict.fromkeys(assigned))
    return frozenset(
        distinct if merge is None else (group.window for group in merged_windows(merge, distinct))
    )


def _assigned(windows: WindowFn, key: str, points: Points) -> list[Window]:
    return [window for point in points for window in _windows(windows, point, key)]


@law
def merging_does_not_depend_on_order(
    windows: WindowFn, key: str, points: Points
) -> Equation[frozenset[Window]]:
    """``merge(W)`` is the same for every order of ``W``.

    Source: Dataflow Model, section 2.2.2; SEMANTICS 13.

    Relied on by: groupings, whose elements arrive in any order.
    """
    assigned = _assigned(windows, key, points)
    return Equation(_spans(windows, assigned), _spans(windows, sorted(assigned)[::-1]))


@law
def merging_is_idempotent(windows: WindowFn, key: str, points: Points) -> Equation[frozenset[Window]]:
    """``merge(merge(W)) = merge(W)``: merged windows do not merge further.

    Source: SEMANTICS 3 and 13.
    """
    once = _spans(windows, _assigned(windows, key, points))
    return Equation(_spans(windows, once), once)


@law
def merging_is_incremental(
    windows: WindowFn, key: str, points: Points, more: Points
) -> Equation[frozenset[Window]]:
    """``merge(merge(V) + W) = merge(V + W)``: merging is associative.

    Source: Dataflow Model, section 2.2.2; SEMANTICS 13.

    Relied on by: streaming, which merges the windows observed so far at each instant.
    """
    first, second = _assigned(windows, key, points), _assigned(windows, key, more)
    return Equation(_spans(windows, [*_spans(windows, first), *second]), _spans(windows, [*first, *second]))


@law
def a_merged_window_spans_its_parts(windows: WindowFn, key: str, points: Points) -> Equation[list[bool]]:
    """Every event time lies in a window of ``merge(W)`` if it was assigned to a window of ``W``.

    Where: windows merge.

    Source: Dataflow Model, section 2.2.2.
    """
    if as_merging(windows) is None:
        return Equation([], [])
    spans = _spans(windows, _assigned(windows, key, points))
    covered = [any(point in window for window in spans) for point in points if _windows(windows, point, key)]
    return Equation(covered, [True] * len(covered))


WINDOW_LAWS: tuple[Law[..., object], ...] = (
    assigned_windows_contain_the_event_time,
    assignment_depends_only_on_the_element,
    assigned_windows_are_distinct,
    merging_does_not_depend_on_order,
    merging_is_idempotent,
    merging_is_incremental,
    a_merged_window_spans_its_parts,
)
"""The laws of every window function, also of user-defined ones."""


@law
def fixed_is_sliding_by_its_size(size: timedelta, points: Points) -> Equation[list[tuple[Window, ...]]]:
    """``FixedWindows(s) = SlidingWindows(s, s)``.

    Source: Dataflow Model, section 1.2.

    Relied on by: engines that implement both in the same way.
    """
    fixed, sliding = FixedWindows(size), SlidingWindows(size, size)
    return Equation(
        [fixed.assign(point, None) for point in points], [sliding.assign(point, None) for point in points]
    )


@law
def sliding_with_gaps_is_fixed_cut_short(
    size: timedelta, points: Points
) -> Equation[list[tuple[Window, ...]]]:
    """``SlidingWindows(s, 2 * s)`` contains the first half of every window of ``FixedWindows(2 * s)``, with gaps in
    between.

    Source: found here.
    """
    period = size * 2
    cut = [tuple(w for w in SlidingWindows(size, period).assign(point, None)) for point in points]
    whole = FixedWindows(period)
    wanted: list[tuple[Window, ...]] = []
    for point in points:
        (window,) = whole.assign(point, None)
        inside = point < window.start + size // timedelta(microseconds=1)
        wanted.append(
            (Window(window.start, EventTime(window.start + size // timedelta(microseconds=1))),)
            if inside
            else ()
        )
    return Equation(cut, wanted)


SIZE_LAWS: tuple[Law[..., object], ...] = (fixed_is_sliding_by_its_size, sliding_with_gaps_is_fixed_cut_short)
"""Laws that relate the built-in window functions."""
