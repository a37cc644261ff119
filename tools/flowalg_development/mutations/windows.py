"""Faults of assigning and merging windows."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Mutant

_CELLS: Final = "interpreters/flowalg_reference/window_state.py"
_GROUPING: Final = "interpreters/flowalg_reference/grouping.py"
_ASSIGNMENT: Final = "flowalg/windows/window_functions.py"
_CALENDARS: Final = "flowalg/windows/calendars.py"
_WINDOWS: Final = "flowalg/windows/window.py"

MERGE_MUTANTS: Final = (
    Mutant(
        "sessions that touch stay apart",
        _ASSIGNMENT,
        "window.start <= end:",
        "window.start < end:",
    ),
    Mutant(
        "a session inside another one cuts it short",
        _ASSIGNMENT,
        "                end = max(end, window.end)\n",
        "                end = window.end\n",
    ),
    Mutant(
        "a merger forgets the panes that stand for its members",
        _CELLS,
        "        merged.current_panes.extend(state.current_panes)\n",
        "",
    ),
    Mutant(
        "a merger keeps the standing panes of its last member only",
        _CELLS,
        "        merged.current_panes.extend(state.current_panes)\n",
        "        merged.current_panes = state.current_panes\n",
    ),
    Mutant(
        "a merger is news only if its last member had some",
        _CELLS,
        "        merged.changed = merged.changed or state.changed\n",
        "        merged.changed = state.changed\n",
        why_it_survives="windows merge only when an element joins them, and that is news itself",
    ),
    Mutant(
        "a merger of windows that have come out is no news",
        _CELLS,
        "    merged.changed = merged.changed or bool(merged.current_panes)\n",
        "",
        why_it_survives="windows merge only when an element joins them, and that is news itself",
    ),
    Mutant(
        "a merger forgets what is pending in all but its last member",
        _CELLS,
        "        merged.pending = merged.pending.merge(state.pending)\n",
        "        merged.pending = state.pending\n",
    ),
    Mutant(
        "a merger starts its trigger without what is pending",
        _CELLS,
        "    merged.trigger = _restart(spec, merged.pending)\n",
        "",
    ),
    Mutant(
        "a merger keeps the trigger of its first member",
        _CELLS,
        "    merged.trigger = _restart(spec, merged.pending)\n",
        "    merged.trigger = min(members, key=lambda one: one.window).trigger\n",
    ),
    Mutant(
        "a merger keeps the contents of its last member only",
        _CELLS,
        "        merged.contents.merge(state.contents)\n",
        "        merged.contents = state.contents\n",
    ),
    Mutant(
        "a complete session that grows beyond the watermark keeps its trigger",
        _CELLS,
        "        if reopened:\n",
        "        if reopened and state.closed:\n",
    ),
    Mutant(
        "a session that ends exactly at the watermark is not yet complete when it grows",
        _CELLS,
        "reopened = state.window.end <= before < window.end",
        "reopened = state.window.end < before < window.end",
    ),
    Mutant(
        "a complete session that grows starts afresh even if it stays complete",
        _CELLS,
        "reopened = state.window.end <= before < window.end",
        "reopened = state.window.end <= before",
    ),
    Mutant(
        "every session that grows starts its trigger afresh",
        _CELLS,
        "reopened = state.window.end <= before < window.end",
        "reopened = before < window.end",
    ),
    Mutant(
        "a session that opens again starts its trigger without what is pending",
        _CELLS,
        "            state.trigger = _restart(spec, state.pending)\n",
        "            state.trigger = initial_state(spec.strategy.trigger)\n",
    ),
    Mutant(
        "a session that grows goes on counting its panes",
        _CELLS,
        "        state.next_index = 0\n",
        "",
    ),
    Mutant(
        "a session that grows keeps its old bounds",
        _CELLS,
        "        state.window = window\n        state.next_index = 0\n",
        "        state.next_index = 0\n",
    ),
    Mutant(
        "closed sessions take part in mergers",
        _GROUPING,
        "live = {window: state for window, state in windows.items() if not state.closed}",
        "live = dict(windows)",
    ),
    Mutant(
        "a closed session catches only elements with its very bounds",
        _GROUPING,
        "return any(state.closed and point in state.window for state in windows.values())",
        "return any(state.closed and state.window == window for state in windows.values())",
    ),
    Mutant(
        "a second grouping merges windows again",
        _GROUPING,
        "merge = as_merging(self.spec.strategy.windows) if self.fresh else None",
        "merge = as_merging(self.spec.strategy.windows)",
    ),
    Mutant(
        "a merged window has no alarms unless it is new",
        _GROUPING,
        "        if grown:\n",
        "        if not members:\n",
    ),
    Mutant(
        "the hold of a window that has merged away is never released",
        _GROUPING,
        "            self.holds.pop(KeyedWindow(member.window, key), None)\n",
        "",
    ),
    Mutant(
        "fixed windows ignore their offset",
        _ASSIGNMENT,
        "start = point - (point - shift) % self.size_micros",
        "start = point - point % self.size_micros",
    ),
    Mutant(
        "fixed windows ignore the offset of a key where there is an offset",
        _ASSIGNMENT,
        "shift = self.offset_micros + (0 if self.offset_by_key is None else _offset(self.offset_by_key, key))",
        "shift = self.offset_micros or (0 if self.offset_by_key is None else _offset(self.offset_by_key, key))",
    ),
    Mutant(
        "a sliding window that ends at the event time contains it",
        _ASSIGNMENT,
        "starts = range(last, point - size, -period)",
        "starts = range(last, point - size - 1, -period)",
    ),
    Mutant(
        "the earliest sliding window is left out",
        _ASSIGNMENT,
        "starts = range(last, point - size, -period)",
        "starts = range(last, point - size + period, -period)",
    ),
    Mutant(
        "sliding windows have no gaps",
        _ASSIGNMENT,
        "starts = range(last, point - size, -period)",
        "starts = range(last, min(point - size, last - 1), -period)",
    ),
    Mutant(
        "a session lasts one instant longer than its gap",
        _ASSIGNMENT,
        "return (Window(end=clamp(point + gap), start=point),)",
        "return (Window(end=clamp(point + gap + 1), start=point),)",
    ),
    Mutant(
        "calendar days start by the clock of their noon",
        _CALENDARS,
        "local = datetime(day.year, day.month, day.day, tzinfo=zone)",
        "local = datetime(day.year, day.month, day.day, 12, tzinfo=zone)",
    ),
    Mutant(
        "calendar weeks start on the mirror image of their first day",
        _CALENDARS,
        "(day.weekday() - self.first_day) % 7",
        "(day.weekday() + self.first_day) % 7",
    ),
    Mutant(
        "calendar months have 30 days",
        _CALENDARS,
        "after = _add_days(first, 32)",
        "after = _add_days(first, 30)",
    ),
    Mutant(
        "a window contains its end",
        _WINDOWS,
        "return self.start <= point < self.end",
        "return self.start <= point <= self.end",
    ),
)
"""Which windows an element is in, and what becomes of windows that merge."""

__all__ = ["MERGE_MUTANTS"]
