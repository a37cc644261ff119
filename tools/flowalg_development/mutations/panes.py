"""Faults of the accumulation modes, of what panes say about themselves, and of expiry."""

from __future__ import annotations

from typing import Final

from flowalg_development.mutations.mutant import Mutant

_CELLS: Final = "interpreters/flowalg_reference/window_state.py"
_CONTENTS: Final = "interpreters/flowalg_reference/contents.py"
_GROUPING: Final = "interpreters/flowalg_reference/grouping.py"
_DROPS: Final = "interpreters/flowalg_reference/drops.py"

_RETRACTION: Final = "yield Element(pane.element, pane.event_time, pane.window, -1, info)"

ACCUMULATION_MUTANTS: Final = (
    Mutant(
        "discarding keeps the contents",
        _CELLS,
        "            self.contents = self.contents.after_discard()\n",
        "            pass\n",
    ),
    Mutant(
        "accumulating discards the contents",
        _CELLS,
        "        if mode is Accumulation.DISCARDING:\n            self.contents",
        "        if mode is not Accumulation.RETRACTING:\n            self.contents",
    ),
    Mutant(
        "a retraction has the new value",
        _CELLS,
        _RETRACTION,
        "yield Element(KV(key, self.contents.extract()), pane.event_time, pane.window, -1, info)",
    ),
    Mutant(
        "a retraction has the event time of the new pane",
        _CELLS,
        _RETRACTION,
        "yield Element(pane.element, self.pane_event_time(spec), pane.window, -1, info)",
    ),
    Mutant(
        "a retraction has the window that its own has merged into",
        _CELLS,
        _RETRACTION,
        "yield Element(pane.element, pane.event_time, self.window, -1, info)",
    ),
    Mutant(
        "a retraction has the index of the new pane",
        _CELLS,
        "self._info(Change.RETRACTION, when, pane.index, clocks, is_last=last)",
        "self._info(Change.RETRACTION, when, self.next_index, clocks, is_last=last)",
    ),
    Mutant(
        "a pane that was taken back stands for ever if no value follows",
        _CELLS,
        "        self.current_panes = []\n        if has_value:\n",
        "        if has_value:\n",
    ),
    Mutant(
        "a pane is given again although nothing has changed",
        _CELLS,
        "        self.changed = False\n",
        "",
    ),
    Mutant(
        "a pane leaves what it has shown pending",
        _CELLS,
        "        self.pending = TriggerSummary()\n",
        "",
    ),
    Mutant(
        "every pane is the first",
        _CELLS,
        "            self.next_index += 1\n",
        "",
    ),
    Mutant(
        "a window that closes does not say that its pane is the last",
        _CELLS,
        "is_last=expires or self.closed",
        "is_last=expires",
    ),
    Mutant(
        "a window that expires does not say that its pane is the last",
        _CELLS,
        "is_last=expires or self.closed",
        "is_last=self.closed",
    ),
    Mutant(
        "a retraction that nothing follows does not say that it is the last",
        _CELLS,
        "last = is_last and not has_value and position + 1 == len(self.current_panes)",
        "last = False",
    ),
    Mutant(
        "on_time=ALWAYS is ignored",
        _CELLS,
        "if self.changed or forced:",
        "if self.changed:",
    ),
    Mutant(
        "on_time=ALWAYS adds early and late panes too",
        _CELLS,
        "forced = fires and when is Timing.ON_TIME and spec",
        "forced = fires and spec",
    ),
    Mutant(
        "a pane is on time whenever the window is complete",
        _CELLS,
        "return Timing.ON_TIME if before < window.end else Timing.LATE",
        "return Timing.ON_TIME",
    ),
    Mutant(
        "a pane is early or late by the watermark before",
        _CELLS,
        "    if after < window.end:\n",
        "    if before < window.end:\n",
    ),
    Mutant(
        "a pane is early at the very end of its window",
        _CELLS,
        "    if after < window.end:\n",
        "    if after <= window.end:\n",
    ),
    Mutant(
        "a window that was complete at its very end is on time once more",
        _CELLS,
        "Timing.ON_TIME if before < window.end",
        "Timing.ON_TIME if before <= window.end",
    ),
    Mutant(
        "a retraction takes the first equal value, of whatever event time",
        _CONTENTS,
        "matched = next((one for one in opposite if one.event_time == new.event_time), opposite[0])",
        "matched = opposite[0]",
    ),
    Mutant(
        "a retraction that comes before its value does not wait for it",
        _CONTENTS,
        "        self.values.append(new)\n        self.unmatched_retractions += new.weight < 0\n",
        "        if new.weight > 0:\n            self.values.append(new)\n",
    ),
    Mutant(
        "an event time that was taken back still counts",
        _CONTENTS,
        "        self.times[time] += weight\n",
        "        self.times[time] += 1\n",
    ),
    Mutant(
        "a window whose values were all taken back has a value",
        _CONTENTS,
        "        return self.size > 0 or changes\n",
        "        return True\n",
    ),
    Mutant(
        "a discarding pane of a mean may be of less than nothing",
        _CONTENTS,
        "mode is Accumulation.DISCARDING and isinstance(self.combiner, Group) and self.combiner.is_signed",
        "mode is Accumulation.DISCARDING and isinstance(self.combiner, Group)",
    ),
    Mutant(
        "a discarding sum of less than nothing is not shown",
        _CONTENTS,
        "        return self.size > 0 or changes\n",
        "        return self.size > 0\n",
    ),
    Mutant(
        "discarding forgets the retractions that have met nothing",
        _CONTENTS,
        "                rest.absorb(kept.value, kept.event_time, kept.weight)\n",
        "                pass\n",
    ),
    Mutant(
        "a discarding window with nothing to show discards what was taken back",
        _CELLS,
        "        elif mode is Accumulation.DISCARDING:\n            return\n",
        "",
    ),
    Mutant(
        "values that are held come in order of arrival",
        _CONTENTS,
        "for kept in sorted(self.values, key=lambda kept: kept.event_time):",
        "for kept in self.values:",
    ),
    Mutant(
        "panes that carry the latest event time carry the earliest",
        _CELLS,
        "found = self.contents.latest",
        "found = self.contents.earliest",
    ),
    Mutant(
        "a merger forgets the event times of its members",
        _CONTENTS,
        "        self.times.update(other.times)\n",
        "",
    ),
)
"""What panes hold, and what they say about themselves."""

EXPIRY_MUTANTS: Final = (
    Mutant(
        "a window lives one watermark longer than its lateness",
        _CELLS,
        "window.end + lateness <= watermark",
        "window.end + lateness < watermark",
    ),
    Mutant(
        "a window expires when it is complete, whatever the lateness",
        _CELLS,
        "window.end + lateness <= watermark",
        "window.end <= watermark",
    ),
    Mutant(
        "an element is late by the watermark after its instant",
        _GROUPING,
        "set(self._receive(received.elements, before, clocks.processing_time))",
        "set(self._receive(received.elements, clocks.watermark, clocks.processing_time))",
    ),
    Mutant(
        "expiry is tested before merging",
        _GROUPING,
        "                    self._drop(element, window, DropReason.CLOSED, time)\n                else:\n",
        "                    self._drop(element, window, DropReason.CLOSED, time)\n"
        "                elif self.spec.expired(window, before):\n"
        "                    self._drop(element, window, DropReason.EXPIRED, time)\n"
        "                else:\n",
    ),
    Mutant(
        "a window that has expired is kept",
        _GROUPING,
        "            del self.windows[key][window]\n            if not self.windows[key]:\n"
        "                del self.windows[key]\n            return\n",
        "            return\n",
    ),
    Mutant(
        "an element of a window that has expired starts it again",
        _GROUPING,
        "if not members and self.spec.expired(window, before):",
        "if not members and self.spec.expired(window, MIN_TIME):",
    ),
    Mutant(
        "a window that has closed is forgotten, so that a later element starts it again",
        _GROUPING,
        "        if not state.closed:\n",
        "        if state.closed:\n            del self.windows[key][window]\n        else:\n",
    ),
    Mutant(
        "drops of closed windows are not reported",
        _GROUPING,
        "                    self._drop(element, window, DropReason.CLOSED, time)\n",
        "                    pass\n",
    ),
    Mutant(
        "drops of expired windows are not reported",
        _GROUPING,
        "                        self._drop(element, assigned, DropReason.EXPIRED, time)\n",
        "                        pass\n",
    ),
    Mutant(
        "what meets a closed window is said to have expired",
        _GROUPING,
        "self._drop(element, window, DropReason.CLOSED, time)",
        "self._drop(element, window, DropReason.EXPIRED, time)",
    ),
    Mutant(
        "a drop of a retraction is a drop of a value",
        _DROPS,
        "Change.VALUE if element.weight > 0 else Change.RETRACTION,",
        "Change.VALUE,",
    ),
    Mutant(
        "no window is looked at when it expires",
        _GROUPING,
        "for point in {end, end + (self.spec.strategy.lateness_micros or 0), MAX_TIME}:",
        "for point in {end, MAX_TIME}:",
    ),
    Mutant(
        "no window is looked at when the input ends",
        _GROUPING,
        "for point in {end, end + (self.spec.strategy.lateness_micros or 0), MAX_TIME}:",
        "for point in {end, end + (self.spec.strategy.lateness_micros or 0)}:",
    ),
    Mutant(
        "an alarm rings only once its time is past",
        _GROUPING,
        "self.event_timers[0][0] <= clocks.watermark",
        "self.event_timers[0][0] < clocks.watermark",
    ),
    Mutant(
        "what is left at the end of the input does not come out",
        _CELLS,
        "if not (fires or expires or clocks.watermark == MAX_TIME):",
        "if not (fires or expires):",
    ),
    Mutant(
        "what is left in a window that expires does not come out",
        _CELLS,
        "if not (fires or expires or clocks.watermark == MAX_TIME):",
        "if not (fires or clocks.watermark == MAX_TIME):",
    ),
)
"""What is dropped, what is flushed, and when state is freed."""

__all__ = ["ACCUMULATION_MUTANTS", "EXPIRY_MUTANTS"]
