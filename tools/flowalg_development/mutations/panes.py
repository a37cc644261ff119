"""Faults of the accumulation modes, of what panes say about themselves, and of expiry."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Replacement

ACCUMULATION_MUTANTS: Final = (
    Replacement(
        "discarding keeps the contents",
        "WindowState._emit",
        "self.contents = self.contents.after_discard()",
        "pass",
    ),
    Replacement(
        "accumulating discards the contents",
        "WindowState._emit",
        "if mode is Accumulation.DISCARDING:\n    self.contents = self.contents.after_discard()",
        "if mode is not Accumulation.RETRACTING:\n    self.contents = self.contents.after_discard()",
    ),
    Replacement(
        "a retraction has the new value",
        "WindowState._emit",
        "Element(pane.element, pane.event_time, pane.window, -1, info)",
        "Element(KV(key, self.contents.extract()), pane.event_time, pane.window, -1, info)",
    ),
    Replacement(
        "a retraction has the event time of the new pane",
        "WindowState._emit",
        "Element(pane.element, pane.event_time, pane.window, -1, info)",
        "Element(pane.element, self.pane_event_time(spec), pane.window, -1, info)",
    ),
    Replacement(
        "a retraction has the window that its own has merged into",
        "WindowState._emit",
        "Element(pane.element, pane.event_time, pane.window, -1, info)",
        "Element(pane.element, pane.event_time, self.window, -1, info)",
    ),
    Replacement(
        "a retraction has the index of the new pane",
        "WindowState._emit",
        "self._info(Change.RETRACTION, when, pane.index, clocks, is_last=last)",
        "self._info(Change.RETRACTION, when, self.next_index, clocks, is_last=last)",
    ),
    Replacement(
        "a pane that was taken back stands for ever if no value follows",
        "WindowState._emit",
        "self.current_panes = []",
        "pass",
    ),
    Replacement(
        "a pane is given again although nothing has changed",
        "WindowState._emit",
        "self.changed = False",
        "pass",
    ),
    Replacement(
        "a pane leaves what it has shown pending",
        "WindowState._emit",
        "self.pending = TriggerSummary()",
        "pass",
    ),
    Replacement("every pane is the first", "WindowState._emit", "self.next_index += 1", "pass"),
    Replacement(
        "a window that closes does not say that its pane is the last",
        "WindowState.evaluate",
        "expires or self.closed",
        "expires",
    ),
    Replacement(
        "a window that expires does not say that its pane is the last",
        "WindowState.evaluate",
        "expires or self.closed",
        "self.closed",
    ),
    Replacement(
        "a retraction that nothing follows does not say that it is the last",
        "WindowState._emit",
        "is_last and (not has_value) and (position + 1 == len(self.current_panes))",
        "False",
    ),
    Replacement(
        "on_time=ALWAYS is ignored", "WindowState.evaluate", "self.changed or forced", "self.changed"
    ),
    Replacement(
        "on_time=ALWAYS adds early and late panes too",
        "WindowState.evaluate",
        "fires and when is Timing.ON_TIME and (spec.strategy.on_time_behavior is OnTimeBehavior.ALWAYS)",
        "fires and spec.strategy.on_time_behavior is OnTimeBehavior.ALWAYS",
    ),
    Replacement(
        "a pane is on time whenever the window is complete",
        "timing",
        "Timing.ON_TIME if before < window.end else Timing.LATE",
        "Timing.ON_TIME",
    ),
    Replacement(
        "a pane is early or late by the watermark before",
        "timing",
        "after < window.end",
        "before < window.end",
    ),
    Replacement(
        "a pane is early at the very end of its window", "timing", "after < window.end", "after <= window.end"
    ),
    Replacement(
        "a window that was complete at its very end is on time once more",
        "timing",
        "before < window.end",
        "before <= window.end",
    ),
    Replacement(
        "a retraction takes the first equal value, of whatever event time",
        "Contents._keep",
        "next((one for one in opposite if one.event_time == new.event_time), opposite[0])",
        "opposite[0]",
    ),
    Replacement(
        "a retraction that comes before its value does not wait for it",
        "Contents._keep",
        "self.values.append(new)",
        "if new.weight < 0:\n    return\nself.values.append(new)",
    ),
    Replacement(
        "an event time that was taken back still counts",
        "Contents.absorb",
        "self.times[time] += weight",
        "self.times[time] += 1",
    ),
    Replacement(
        "a window whose values were all taken back has a value",
        "Contents.has_value",
        "self.size > 0 or changes",
        "True",
    ),
    Replacement(
        "a discarding pane of a mean may be of less than nothing",
        "Contents.has_value",
        "mode is Accumulation.DISCARDING and isinstance(self.combiner, Group) and self.combiner.is_signed",
        "mode is Accumulation.DISCARDING and isinstance(self.combiner, Group)",
    ),
    Replacement(
        "a discarding sum of less than nothing is not shown",
        "Contents.has_value",
        "self.size > 0 or changes",
        "self.size > 0",
    ),
    Replacement(
        "discarding forgets the retractions that have met nothing",
        "Contents.after_discard",
        "rest.absorb(kept.value, kept.event_time, kept.weight)",
        "pass",
    ),
    Replacement(
        "a discarding window with nothing to show discards what was taken back",
        "WindowState._emit",
        "if mode is Accumulation.DISCARDING:\n    return",
        "pass",
    ),
    Replacement(
        "values that are held come in order of arrival",
        "Contents.extract",
        "sorted(self.values, key=lambda kept: kept.event_time)",
        "self.values",
    ),
    Replacement(
        "panes that carry the latest event time carry the earliest",
        "WindowState.pane_event_time",
        "found = self.contents.latest",
        "found = self.contents.earliest",
    ),
    Replacement(
        "a merger forgets the event times of its members",
        "Contents.merge",
        "self.times.update(other.times)",
        "pass",
    ),
)
"""What panes hold, and what they say about themselves."""

EXPIRY_MUTANTS: Final = (
    Replacement(
        "a window lives one watermark longer than its lateness",
        "GroupingSpec.expired",
        "window.end + lateness <= watermark",
        "window.end + lateness < watermark",
    ),
    Replacement(
        "a window expires when it is complete, whatever the lateness",
        "GroupingSpec.expired",
        "window.end + lateness",
        "window.end",
    ),
    Replacement(
        "an element is late by the watermark after its instant",
        "Grouping.advance",
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
    Replacement(
        "a window that has expired is kept", "Grouping._evaluate", "del self.windows[key][window]", "pass"
    ),
    Replacement(
        "an element of a window that has expired starts it again",
        "Grouping._receive",
        "not members and self.spec.expired(window, before)",
        "False",
    ),
    Replacement(
        "a window that has closed is forgotten, so that a later element starts it again",
        "Grouping._evaluate",
        "if not state.closed:\n    self._schedule(keyed_window, state, clocks)",
        "if not state.closed:\n"
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
        "what meets a closed window is said to have expired",
        "Grouping._receive",
        "self._drop(element, window, DropReason.CLOSED, time)",
        "self._drop(element, window, DropReason.EXPIRED, time)",
    ),
    Replacement(
        "a drop of a retraction is a drop of a value",
        "drop",
        "Change.VALUE if element.weight > 0 else Change.RETRACTION",
        "Change.VALUE",
    ),
    Replacement(
        "no window is looked at when it expires",
        "Grouping._set_timers",
        "{end, end + (self.spec.strategy.lateness_micros or 0), MAX_TIME}",
        "{end, MAX_TIME}",
    ),
    Replacement(
        "no window is looked at when the input ends",
        "Grouping._set_timers",
        "{end, end + (self.spec.strategy.lateness_micros or 0), MAX_TIME}",
        "{end, end + (self.spec.strategy.lateness_micros or 0)}",
    ),
    Replacement(
        "an alarm rings only once its time is past",
        "Grouping._due",
        "self.event_timers[0][0] <= clocks.watermark",
        "self.event_timers[0][0] < clocks.watermark",
    ),
    Replacement(
        "what is left at the end of the input does not come out",
        "WindowState.evaluate",
        "fires or expires or clocks.watermark == MAX_TIME",
        "fires or expires",
    ),
    Replacement(
        "what is left in a window that expires does not come out",
        "WindowState.evaluate",
        "fires or expires or clocks.watermark == MAX_TIME",
        "fires or clocks.watermark == MAX_TIME",
    ),
)
"""What is dropped, what is flushed, and when state is freed."""


__all__ = ["ACCUMULATION_MUTANTS", "EXPIRY_MUTANTS"]
