"""Faults of assigning and merging windows."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

MERGE_MUTANTS: Final = (
    Replacement(
        "sessions that touch stay apart", "Sessions.merge", "window.start <= end", "window.start < end"
    ),
    Replacement(
        "a session inside another one cuts it short", "Sessions.merge", "max(end, window.end)", "window.end"
    ),
    Replacement(
        "a merger forgets the panes that stand for its members",
        "merge_windows",
        "merged.current_panes.extend(state.current_panes)",
        "pass",
    ),
    Replacement(
        "a merger keeps the standing panes of its last member only",
        "merge_windows",
        "merged.current_panes.extend(state.current_panes)",
        "merged.current_panes = state.current_panes",
    ),
    Replacement(
        "a merger is news only if its last member had some",
        "merge_windows",
        "merged.changed or state.changed",
        "state.changed",
        why_it_survives="windows merge only when an element joins them, and that is news itself",
    ),
    Replacement(
        "a merger of windows that have come out is no news",
        "merge_windows",
        "merged.changed = merged.changed or bool(merged.current_panes)",
        "pass",
        why_it_survives="windows merge only when an element joins them, and that is news itself",
    ),
    Replacement(
        "a merger forgets what is pending in all but its last member",
        "merge_windows",
        "merged.pending.merge(state.pending)",
        "state.pending",
    ),
    Replacement(
        "a merger starts its trigger without what is pending",
        "merge_windows",
        "merged.trigger = _restart(spec, merged.pending)",
        "pass",
    ),
    Replacement(
        "a merger keeps the trigger of its first member",
        "merge_windows",
        "_restart(spec, merged.pending)",
        "min(members, key=lambda one: one.window).trigger",
    ),
    Replacement(
        "a merger keeps the contents of its last member only",
        "merge_windows",
        "merged.contents.merge(state.contents)",
        "merged.contents = state.contents",
    ),
    Replacement(
        "a complete session that grows beyond the watermark keeps its trigger",
        "merge_windows",
        "if reopened:\n    ...",
        "if reopened and state.closed:\n    ...",
    ),
    Replacement(
        "a session that ends exactly at the watermark is not yet complete when it grows",
        "merge_windows",
        "state.window.end <= before < window.end",
        "state.window.end < before < window.end",
    ),
    Replacement(
        "a complete session that grows starts afresh even if it stays complete",
        "merge_windows",
        "state.window.end <= before < window.end",
        "state.window.end <= before",
    ),
    Replacement(
        "every session that grows starts its trigger afresh",
        "merge_windows",
        "state.window.end <= before < window.end",
        "before < window.end",
    ),
    Replacement(
        "a session that opens again starts its trigger without what is pending",
        "merge_windows",
        "_restart(spec, state.pending)",
        "initial_state(spec.strategy.trigger)",
    ),
    Replacement(
        "a session that grows goes on counting its panes", "merge_windows", "state.next_index = 0", "pass"
    ),
    Replacement(
        "a session that grows keeps its old bounds", "merge_windows", "state.window = window", "pass"
    ),
    Replacement(
        "closed sessions take part in mergers",
        "Grouping._merge",
        "{window: state for window, state in windows.items() if not state.closed}",
        "dict(windows)",
    ),
    Replacement(
        "a closed session catches only elements with its very bounds",
        "Grouping._is_closed",
        "point in state.window",
        "state.window == window",
    ),
    Replacement(
        "a second grouping merges windows again",
        "Grouping._merge",
        "as_merging(self.spec.strategy.windows) if self.fresh else None",
        "as_merging(self.spec.strategy.windows)",
    ),
    Replacement(
        "a merged window has no alarms unless it is new",
        "Grouping._replace_members",
        "if grown:\n    ...",
        "if not members:\n    ...",
    ),
    Replacement(
        "the hold of a window that has merged away is never released",
        "Grouping._replace_members",
        "self.holds.pop(KeyedWindow(member.window, key), None)",
        "pass",
    ),
    Replacement("fixed windows ignore their offset", "FixedWindows.assign", "point - shift", "point"),
    Replacement(
        "fixed windows ignore the offset of a key where there is an offset",
        "FixedWindows.assign",
        "self.offset_micros + (0 if self.offset_by_key is None else _offset(self.offset_by_key, key))",
        "self.offset_micros or (0 if self.offset_by_key is None else _offset(self.offset_by_key, key))",
    ),
    Replacement(
        "a sliding window that ends at the event time contains it",
        "SlidingWindows.assign",
        "point - size",
        "point - size - 1",
    ),
    Replacement(
        "the earliest sliding window is left out",
        "SlidingWindows.assign",
        "point - size",
        "point - size + period",
    ),
    Replacement(
        "sliding windows have no gaps", "SlidingWindows.assign", "point - size", "min(point - size, last - 1)"
    ),
    Replacement(
        "a session lasts one instant longer than its gap", "Sessions.assign", "point + gap", "point + gap + 1"
    ),
    Replacement(
        "calendar days start by the clock of their noon",
        "_midnight",
        "datetime(day.year, day.month, day.day, tzinfo=zone)",
        "datetime(day.year, day.month, day.day, 12, tzinfo=zone)",
    ),
    Replacement(
        "calendar weeks start on the mirror image of their first day",
        "CalendarWeeks.assign",
        "day.weekday() - self.first_day",
        "day.weekday() + self.first_day",
    ),
    Replacement(
        "calendar months have 30 days",
        "CalendarMonths.assign",
        "_add_days(first, 32)",
        "_add_days(first, 30)",
    ),
    Replacement(
        "a window contains its end",
        "Window.__contains__",
        "self.start <= point < self.end",
        "self.start <= point <= self.end",
    ),
)
"""Which windows an element is in, and what becomes of windows that merge."""


__all__ = ["MERGE_MUTANTS"]
