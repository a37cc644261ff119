"""Faults of the accumulation modes, of the metadata of panes, and of expiry."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

ACCUMULATION_MUTANTS: Final = (
    Replacement(
        "DISCARDING keeps the contents",
        "WindowState._emit",
        "self._discard()",
        "pass",
    ),
    Replacement(
        "ACCUMULATING discards the contents",
        "WindowState._emit",
        "if mode is Accumulation.DISCARDING:\n    self._discard()",
        "if mode is not Accumulation.RETRACTING:\n    self._discard()",
    ),
    Replacement(
        "a retraction has the new value",
        "WindowState._retract",
        "Element(pane.element, pane.event_time, pane.window, -1, info)",
        "Element(KV(None, self.contents.extract()), pane.event_time, pane.window, -1, info)",
    ),
    Replacement(
        "a retraction has the event time of the new pane",
        "WindowState._retract",
        "Element(pane.element, pane.event_time, pane.window, -1, info)",
        "Element(pane.element, self.window.last_instant, pane.window, -1, info)",
    ),
    Replacement(
        "a retraction has the merged window instead of the window of its pane",
        "WindowState._retract",
        "Element(pane.element, pane.event_time, pane.window, -1, info)",
        "Element(pane.element, pane.event_time, self.window, -1, info)",
    ),
    Replacement(
        "a retraction has the index of the new pane",
        "WindowState._retract",
        "self._info(Change.RETRACTION, when, pane.index, clocks, is_last=last)",
        "self._info(Change.RETRACTION, when, self.next_index, clocks, is_last=last)",
    ),
    Replacement(
        "a retracted pane stays current if no value follows",
        "WindowState._emit",
        "self.current_panes = []",
        "pass",
    ),
    Replacement(
        "a pane is emitted again without a change",
        "WindowState._emit",
        "self.changed = False",
        "pass",
    ),
    Replacement(
        "emitted elements stay pending",
        "WindowState._emit",
        "self.pending = TriggerSummary()",
        "pass",
    ),
    Replacement("every pane has index 0", "WindowState._emit", "self.next_index += 1", "pass"),
    Replacement(
        "the last pane of a closing window is not marked as last",
        "WindowState.evaluate",
        "expires and not returns or self.closed",
        "expires and not returns",
    ),
    Replacement(
        "the last pane of an expiring window is not marked as last",
        "WindowState.evaluate",
        "expires and not returns or self.closed",
        "self.closed",
    ),
    Replacement(
        "a final retraction is not marked as last",
        "WindowState._emit",
        "is_last and (not has_value)",
        "False",
    ),
    Replacement(
        "on_time=ALWAYS is ignored", "WindowState.evaluate", "self.changed or forced", "self.changed"
    ),
    Replacement(
        "on_time=ALWAYS also adds early and late panes",
        "WindowState.evaluate",
        "fires and when is Timing.ON_TIME and (spec.strategy.on_time_behavior is OnTimeBehavior.ALWAYS)",
        "fires and spec.strategy.on_time_behavior is OnTimeBehavior.ALWAYS",
    ),
    Replacement(
        "every pane of a complete window is on time",
        "timing",
        "Timing.ON_TIME if before < window.end else Timing.LATE",
        "Timing.ON_TIME",
    ),
    Replacement(
        "the timing of a pane depends on the previous watermark",
        "timing",
        "after < window.end",
        "before < window.end",
    ),
    Replacement(
        "a pane is early when the watermark equals the end of its window",
        "timing",
        "after < window.end",
        "after <= window.end",
    ),
    Replacement(
        "a window is on time twice if the watermark equals its end",
        "timing",
        "before < window.end",
        "before <= window.end",
    ),
    Replacement(
        "a retraction removes the first equal value, ignoring event times",
        "Contents._keep",
        "next((one for one in opposite if one.event_time == new.event_time), opposite[0])",
        "opposite[0]",
    ),
    Replacement(
        "a retraction before its value is ignored",
        "Contents._keep",
        "self.values.append(new)",
        "if new.weight < 0:\n    return\nself.values.append(new)",
    ),
    Replacement(
        "the event time of a retracted value still counts",
        "Contents.absorb",
        "self.times[time] += weight",
        "self.times[time] += 1",
    ),
    Replacement(
        "a window without remaining values has a value",
        "Contents.has_value",
        "self.size > 0 or changes",
        "True",
    ),
    Replacement(
        "a discarding mean has a value for a negative count",
        "Contents.has_value",
        "mode is Accumulation.DISCARDING and isinstance(self.combiner, Group) and self.combiner.is_signed",
        "mode is Accumulation.DISCARDING and isinstance(self.combiner, Group)",
    ),
    Replacement(
        "a discarding sum omits a net retraction",
        "Contents.has_value",
        "self.size > 0 or changes",
        "self.size > 0",
    ),
    Replacement(
        "DISCARDING clears retractions without a value",
        "Contents.after_discard",
        "rest.absorb(kept.value, kept.event_time, kept.weight)",
        "pass",
    ),
    Replacement(
        "DISCARDING clears retractions without emitting a pane",
        "WindowState._emit",
        "if mode is Accumulation.DISCARDING:\n    return",
        "pass",
    ),
    Replacement(
        "collected values are in arrival order",
        "Combiner.add_timed",
        "sort_by_time(timed)",
        "[value for _, value in timed]",
    ),
    Replacement(
        "TimestampCombiner.LATEST takes the earliest event time",
        "WindowState.pane_event_time",
        "found = self.contents.latest",
        "found = self.contents.earliest",
    ),
    Replacement(
        "merging loses the event times of the merged windows",
        "Contents.merge",
        "self.times.update(other.times)",
        "pass",
    ),
)
"""Faults of the content and the metadata of panes."""

EXPIRY_MUTANTS: Final = (
    Replacement(
        "a window expires only when the watermark exceeds its lateness",
        "GroupingSpec.expired",
        "window.end + lateness <= watermark",
        "window.end + lateness < watermark",
    ),
    Replacement(
        "a window expires at its end, ignoring the allowed lateness",
        "GroupingSpec.expired",
        "window.end + lateness",
        "window.end",
    ),
    Replacement(
        "lateness is decided by the watermark after the instant",
        "Grouping._advance",
        "self._receive(received.elements, before, clocks.processing_time)",
        "self._receive(received.elements, clocks.watermark, clocks.processing_time)",
    ),
    Replacement(
        "expiry is tested before merging",
        "Grouping._receive",
        "by_key[key].append((element, window))",
        "if self.spec.expired(window, before):\n"
        "    self._drop(element, window, DropReason.EXPIRED, time)\n"
        "else:\n"
        "    by_key[key].append((element, window))",
    ),
    Replacement("an expired window is kept", "Grouping._evaluate", "del self.windows[key][window]", "pass"),
    Replacement(
        "an element of an expired window opens it again",
        "Grouping._receive",
        "not members and self.spec.expired(window, before)",
        "False",
    ),
    Replacement(
        "a closed window is deleted, and a later element opens it again",
        "Grouping._evaluate",
        "if not state.closed and not state.is_vacant:\n    self._schedule(keyed_window, state, clocks)",
        "if not state.closed and not state.is_vacant:\n"
        "    self._schedule(keyed_window, state, clocks)\n"
        "else:\n"
        "    del self.windows[key][window]",
    ),
    Replacement(
        "drops of closed windows are not reported",
        "Grouping._receive",
        "self._drop(element, window, DropReason.CLOSED, time)",
        "pass",
    ),
    Replacement(
        "drops of expired windows are not reported",
        "Grouping._receive",
        "self._drop(element, assigned, DropReason.EXPIRED, time)",
        "pass",
    ),
    Replacement(
        "a drop by a closed window has the reason EXPIRED",
        "Grouping._receive",
        "self._drop(element, window, DropReason.CLOSED, time)",
        "self._drop(element, window, DropReason.EXPIRED, time)",
    ),
    Replacement(
        "the drop of a retraction is reported as the drop of a value",
        "drop",
        "Change.VALUE if element.weight > 0 else Change.RETRACTION",
        "Change.VALUE",
    ),
    Replacement(
        "no window has a timer for its expiry",
        "Grouping._set_timers",
        "{end, end + (self.spec.strategy.lateness_micros or 0), MAX_TIME}",
        "{end, MAX_TIME}",
    ),
    Replacement(
        "no window has a timer for the end of the input",
        "Grouping._set_timers",
        "{end, end + (self.spec.strategy.lateness_micros or 0), MAX_TIME}",
        "{end, end + (self.spec.strategy.lateness_micros or 0)}",
    ),
    Replacement(
        "an event-time timer fires only after its time",
        "Grouping._due",
        "self.event_timers[0][0] <= clocks.watermark",
        "self.event_timers[0][0] < clocks.watermark",
    ),
    Replacement(
        "pending elements are not emitted at the end of the input",
        "WindowState.evaluate",
        "fires or expires or clocks.watermark == MAX_TIME",
        "fires or expires",
    ),
    Replacement(
        "pending elements are not emitted when a window expires",
        "WindowState.evaluate",
        "fires or expires or clocks.watermark == MAX_TIME",
        "fires or clocks.watermark == MAX_TIME",
    ),
)
"""Faults of drops, of the last panes, and of the release of state."""
