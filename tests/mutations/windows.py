"""Faults of assigning and merging windows."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

MERGE_MUTANTS: Final = (
    Replacement(
        "windows by value need not contain the event time",
        "_assigned",
        "not isinstance(window, Window) or point not in window",
        "not isinstance(window, Window)",
    ),
    Replacement(
        "windows by value receive the tag of a co-group",
        "Grouping._assign",
        "untagged(require_keyed(element.value, self.spec.label).value)",
        "require_keyed(element.value, self.spec.label).value",
    ),
    Replacement(
        "windows by value receive the key as the value",
        "assign_windows",
        "windows.assign(point, key, value)",
        "windows.assign(point, key, key)",
    ),
    Replacement(
        "adjacent sessions do not merge", "Sessions.merge", "window.start <= end", "window.start < end"
    ),
    Replacement(
        "a session inside another session shortens it", "Sessions.merge", "max(end, window.end)", "window.end"
    ),
    Replacement(
        "merging loses the current panes",
        "merge_windows",
        "merged.current_panes.extend(state.current_panes)",
        "pass",
    ),
    Replacement(
        "merging keeps only the current panes of the last window",
        "merge_windows",
        "merged.current_panes.extend(state.current_panes)",
        "merged.current_panes = state.current_panes",
    ),
    Replacement(
        "a merged window is changed only if its last window was changed",
        "merge_windows",
        "merged.changed or state.changed",
        "state.changed",
        why_it_survives="windows merge only when an element joins them, and the element is a change",
    ),
    Replacement(
        "a merged window with current panes is unchanged",
        "merge_windows",
        "merged.changed = merged.changed or bool(merged.current_panes)",
        "pass",
        why_it_survives="windows merge only when an element joins them, and the element is a change",
    ),
    Replacement(
        "merging keeps only the pending elements of the last window",
        "merge_windows",
        "merged.pending.merge(state.pending)",
        "state.pending",
    ),
    Replacement(
        "merging resets the trigger without the pending elements",
        "merge_windows",
        "merged.restart_trigger(spec)",
        "pass",
    ),
    Replacement(
        "merging keeps the trigger state of the first window",
        "merge_windows",
        "merged.restart_trigger(spec)",
        "merged.trigger = min(members, key=lambda one: one.window).trigger",
    ),
    Replacement(
        "merging keeps only the contents of the last window",
        "merge_windows",
        "merged.contents.merge(state.contents)",
        "merged.contents = state.contents",
    ),
    Replacement(
        "a complete session that extends beyond the watermark keeps its trigger state",
        "merge_windows",
        "if reopened:\n    ...",
        "if reopened and state.closed:\n    ...",
    ),
    Replacement(
        "a session that ends at the watermark is extended as an incomplete one",
        "merge_windows",
        "state.window.end <= before < window.end",
        "state.window.end < before < window.end",
    ),
    Replacement(
        "an extended session that stays complete is reset",
        "merge_windows",
        "state.window.end <= before < window.end",
        "state.window.end <= before",
    ),
    Replacement(
        "every extended session resets its trigger",
        "merge_windows",
        "state.window.end <= before < window.end",
        "before < window.end",
    ),
    Replacement(
        "a reopened session resets its trigger without the pending elements",
        "merge_windows",
        "state.restart_trigger(spec)",
        "state.trigger = initial_state(spec.strategy.trigger)",
    ),
    Replacement(
        "a restarted trigger observes pending elements and new ones one after the other",
        "WindowState.observe",
        "observe(spec.strategy.trigger, self.trigger, bundle)",
        "observe(spec.strategy.trigger, observe(spec.strategy.trigger, self.trigger, self.unobserved), summary)",
    ),
    Replacement(
        "an extended session continues its pane index", "merge_windows", "state.next_index = 0", "pass"
    ),
    Replacement("an extended session keeps its old bounds", "merge_windows", "state.window = window", "pass"),
    Replacement(
        "closed sessions merge",
        "Grouping._merge",
        "{window: state for window, state in windows.items() if not state.closed}",
        "dict(windows)",
    ),
    Replacement(
        "a closed session drops only elements with equal bounds",
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
        "an extended window has no new timers",
        "Grouping._replace_members",
        "if grown:\n    ...",
        "if not members:\n    ...",
    ),
    Replacement(
        "the hold of a merged window is never released",
        "Grouping._replace_members",
        "self._forget(KeyedWindow(member.window, key))",
        "pass",
    ),
    Replacement("fixed windows ignore their offset", "FixedWindows.assign", "point - shift", "point"),
    Replacement(
        "fixed windows with an offset ignore the offset of the key",
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
        "the earliest sliding window is missing",
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
        "calendar weeks mirror their first day",
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
"""Faults of the windows of an element, and of merging."""
