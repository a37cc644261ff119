"""User-defined windows: ``check_window_fn`` finds a merge that breaks a law, at whatever scale its windows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import count
from typing import TypeAlias

import pytest
from flowalg_laws import check_combiner, check_window_fn
from hypothesis import Phase, settings
from hypothesis import strategies as st

from flowalg import EventTime, FixedWindows, Sessions, SlidingWindows, Window, combiner, event_time
from flowalg.data import MAX_TIME
from flowalg.errors import ArgumentError, UserFunctionError
from flowalg.windows import CalendarMonths, CustomWindows, MergedWindow, WindowFn, WindowsByValue

SECOND = 1_000_000
MINUTE = 60 * SECOND
LENGTHS = (
    *(1, 7, 1000, SECOND // 10, SECOND // 2, SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, 45 * SECOND),
    *(MINUTE, 90 * SECOND, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE),
    *(60 * MINUTE, 360 * MINUTE, 1440 * MINUTE, 10080 * MINUTE),
)
Merge: TypeAlias = Callable[[tuple[Window, ...]], Sequence[Sequence[Window]]]


@pytest.fixture
def without_shrinking() -> Iterator[None]:
    """Finds counterexamples only, in as many examples as a reader has."""
    before = settings.get_current_profile_name()
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile(
        "finding", max_examples=100, derandomize=True, phases=phases, deadline=timedelta(0, 1)
    )
    settings.load_profile("finding")
    yield
    settings.load_profile(before)


def of_length(length: int, merge: Merge) -> CustomWindows:
    """Windows of one length that begin at each element, and merge."""
    return CustomWindows("windows", lambda point, key: [Window(point, EventTime(point + length))], merge)


def neighbours(windows: tuple[Window, ...]) -> list[list[Window]]:
    """Merges windows that touch their neighbour in the order of the argument only."""
    groups: list[list[Window]] = []
    for window in windows:
        last = groups[-1][-1] if groups else None
        if last is not None and window.start <= last.end and last.start <= window.end:
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups


def greedily_to(cap: int) -> Merge:
    """Merges windows that touch, from the earliest on, until the merged window would be longer than a cap."""

    def merge(windows: tuple[Window, ...]) -> list[list[Window]]:
        groups: list[list[Window]] = []
        end = 0
        for window in sorted(windows):
            if groups and window.start <= end and max(end, window.end) - groups[-1][0].start <= cap:
                groups[-1].append(window)
                end = max(end, window.end)
            else:
                groups.append([window])
                end = window.end
        return groups

    return merge


def of_close(distance: int) -> Merge:
    """Merges each window with the first group that began less than a distance from it, in the order of the argument."""

    def merge(windows: tuple[Window, ...]) -> list[list[Window]]:
        groups: list[list[Window]] = []
        for window in windows:
            near = (group for group in groups if abs(group[0].start - window.start) < distance)
            group = next(near, None)
            if group is None:
                groups.append([window])
            else:
                group.append(window)
        return groups

    return merge


def double_and_add(total: int, value: int) -> int:
    """Neither associative nor commutative."""
    return 2 * total + value


@pytest.mark.usefixtures("without_shrinking")
@pytest.mark.parametrize("length", LENGTHS)
def test_a_merge_that_depends_on_the_order_is_found_at_every_scale(length: int) -> None:
    """The event times of the check have distances of the order of the windows, from a microsecond to a week."""
    with pytest.raises(AssertionError):
        check_window_fn(of_length(length, neighbours))


@pytest.mark.usefixtures("without_shrinking")
@pytest.mark.parametrize("length", [1, SECOND, 90 * SECOND, 1440 * MINUTE])
@pytest.mark.parametrize("windows_in_a_cap", [2, 3, 10, 60, 480])
def test_a_greedy_cap_of_sessions_is_found(length: int, windows_in_a_cap: int) -> None:
    """Sessions that are cut at a length, from their earliest window on, are not associative, whatever the length."""
    with pytest.raises(AssertionError, match="merging"):
        check_window_fn(of_length(length, greedily_to(windows_in_a_cap * length)))


@pytest.mark.usefixtures("without_shrinking")
@pytest.mark.parametrize("part", [3, 10, 100])
@pytest.mark.parametrize("length", [SECOND, MINUTE, 1440 * MINUTE, 365 * 1440 * MINUTE])
def test_a_merge_that_depends_on_the_order_of_close_windows_is_found(length: int, part: int) -> None:
    """Some event times are much closer than a window is long: a merge may look at a part of the length only."""

    with pytest.raises(AssertionError):
        check_window_fn(of_length(length, of_close(length // part)))


@pytest.mark.usefixtures("without_shrinking")
@pytest.mark.parametrize("length", [1000, SECOND, 1440 * MINUTE, 365 * 1440 * MINUTE])
def test_windows_that_are_wrong_before_the_epoch_are_found(length: int) -> None:
    """Some event times lie before 1970: a division that truncates puts those into the window after theirs."""

    def truncate(point: EventTime, key: object) -> list[Window]:
        start = int(point / length) * length
        return [Window(EventTime(start), EventTime(start + length))]

    with pytest.raises(AssertionError, match="must be Windows that contain"):
        check_window_fn(CustomWindows("truncated", truncate))


@pytest.mark.usefixtures("without_shrinking")
@pytest.mark.parametrize("length", [7, 7 * SECOND, 10080 * MINUTE, 365 * 1440 * MINUTE])
def test_windows_that_leave_out_their_bounds_are_found(length: int) -> None:
    """Some event times are bounds of windows: a microsecond that no window has is found at every scale."""

    def without_start(point: EventTime, key: object) -> list[Window]:
        start = point // length * length
        return [Window(EventTime(start + 1), EventTime(start + length))]

    with pytest.raises(AssertionError, match="must be Windows that contain"):
        check_window_fn(CustomWindows("without start", without_start))


def test_windows_of_a_year_whose_end_is_computed_pass() -> None:
    """No event time is so late that the end of its window is beyond the times of Python."""
    year = timedelta(days=365)
    check_window_fn(
        CustomWindows("years", lambda point, key: [Window(point, event_time(point.datetime + year))])
    )


@pytest.mark.usefixtures("without_shrinking")
def test_a_function_that_is_not_pure_is_a_broken_law() -> None:
    """A function that returns other windows for the same arguments fails the check with an ``AssertionError``."""
    calls = count()
    windows = CustomWindows(
        "w", lambda point, key: [Window(point, EventTime(point + (1 if next(calls) % 97 else 2) * SECOND))]
    )
    with pytest.raises(AssertionError):
        check_window_fn(windows)


@pytest.mark.usefixtures("without_shrinking")
@pytest.mark.parametrize(
    "windows",
    [
        FixedWindows(timedelta(microseconds=1)),
        SlidingWindows(timedelta(days=30), timedelta(days=7)),
        Sessions(timedelta(microseconds=1)),
        Sessions(timedelta(days=3)),
        CalendarMonths("America/New_York"),
        of_length(10080 * MINUTE, lambda windows: Sessions(timedelta(1)).merge(windows)),
    ],
    ids=str,
)
def test_lawful_windows_pass_at_every_scale(windows: WindowFn) -> None:
    """Windows that satisfy the laws pass, at whatever scale they are."""
    check_window_fn(windows)


@pytest.mark.usefixtures("without_shrinking")
def test_groups_that_are_no_partition_are_a_broken_law() -> None:
    """A merge whose groups have the same window, or leave windows out, is an ``AssertionError`` with the reason."""

    def same(windows: tuple[Window, ...]) -> list[MergedWindow]:
        whole = Window(EventTime(0), MAX_TIME)
        return [MergedWindow(whole, (window,)) for window in windows]

    for merge, reason in (
        (same, "must have another window for each group"),
        (lambda _: [], "must be a partition"),
    ):
        windows = CustomWindows("w", lambda point, key: [Window(point, EventTime(point + MINUTE))], merge)
        with pytest.raises(AssertionError, match=f"w: the result of w.merge {reason}"):
            check_window_fn(windows)


def test_an_error_of_a_function_is_raised() -> None:
    """A function that raises fails the check with its own error."""
    with pytest.raises(UserFunctionError, match="w.assign: .* raised ZeroDivisionError"):
        check_window_fn(CustomWindows("w", lambda point, key: [Window(point, EventTime(point // 0))]))


def by_value(point: EventTime, key: str, points: int) -> list[Window]:
    """Minutes for few points, two minutes for many."""
    return [Window(point, EventTime(point + (MINUTE if points < 5 else 2 * MINUTE)))]


@pytest.mark.usefixtures("without_shrinking")
def test_windows_by_value_are_checked_with_values() -> None:
    """A function of the value receives generated values, and its merge has the windows of several of them."""
    check_window_fn(WindowsByValue("lawful", by_value), values=st.integers(0, 9))
    sessions = WindowsByValue("sessions", by_value, lambda windows: Sessions(timedelta(1)).merge(windows))
    check_window_fn(sessions, values=st.integers(0, 9))
    with pytest.raises(AssertionError, match="merging"):
        check_window_fn(WindowsByValue("unlawful", by_value, neighbours), values=st.integers(0, 9))
    with pytest.raises(UserFunctionError, match=r"broken.assign: .* raised ZeroDivisionError.*, 7\)"):
        check_window_fn(
            WindowsByValue("broken", lambda point, key, value: [Window(point, EventTime(value // 0))]),
            values=st.just(7),
        )


@pytest.mark.usefixtures("without_shrinking")
@pytest.mark.parametrize("length", [1, SECOND, MINUTE, 1440 * MINUTE, 365 * 1440 * MINUTE])
def test_merges_of_windows_by_value_that_depend_on_the_order_are_found_at_every_scale(length: int) -> None:
    """With values, the check tries the same rows of neighbours as without them."""

    def assign(point: EventTime, key: str, value: int) -> list[Window]:
        return [Window(point, EventTime(point + length * (1 + value % 2)))]

    unlawful = (neighbours, greedily_to(10 * length), of_close(length // 10))
    for merge in unlawful if length > 1 else unlawful[:2]:
        with pytest.raises(AssertionError):
            check_window_fn(WindowsByValue("unlawful", assign, merge), values=st.integers(0, 9))


def test_values_belong_to_windows_by_value() -> None:
    """Without values such windows are not checked with ``None``; other windows take no values."""
    for windows, values in (
        (WindowsByValue("by value", by_value), None),
        (FixedWindows(timedelta(1)), st.integers()),
    ):
        with pytest.raises(
            ArgumentError, match="check_window_fn: values must be a strategy of the values of elements for"
        ):
            check_window_fn(windows, values=values)


@pytest.mark.usefixtures("without_shrinking")
def test_checks_have_no_deadline_and_raise_one_failure() -> None:
    """A check takes no notice of a deadline of the profile, and several failures are one ``AssertionError``."""
    check_combiner(combiner(zero=0, add=max, merge=max, name="greatest"), st.integers(0))
    unequal = combiner(zero=0, add=double_and_add, merge=double_and_add, name="odd")
    with pytest.raises(AssertionError, match="does not hold for"):
        check_combiner(unequal, st.integers())
