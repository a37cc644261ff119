"""Faults of the reference interpreter: when windows fire, what panes hold, and what is late."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Area, Mutant

REFERENCE: Final = (
    Area(
        "firing",
        ("laws", "reference", "corrections", "conformance"),
        (
            Mutant(
                "AtWatermark fires only when the watermark exceeds the end of the window",
                "`at_watermark_compares_with_the_end`: a window is complete when the watermark is its end",
                "WatermarkLeaf.is_ready",
                "clocks.percentile(self.percentile) >= end",
                "clocks.percentile(self.percentile) > end",
            ),
            Mutant(
                "And fires when any of its triggers is satisfied",
                "`and_absorbs`, `both_counts`",
                "is_satisfied",
                "all(is_satisfied(part, state, window, clocks) for part in parts)",
                "any(is_satisfied(part, state, window, clocks) for part in parts)",
            ),
            Mutant(
                "Repeat does not reset a finished trigger",
                "`repeat_unfolds`",
                "fire",
                "initial_state(repeated) if isinstance(after, Finished) else after",
                "after",
            ),
            Mutant(
                "the limit of OrFinally observes nothing",
                "`a_limit_observes_from_the_start`",
                "observe",
                "limit.observe(until, summary)",
                "limit",
            ),
            Mutant(
                "OrFinally fires at its limit but does not finish",
                "`a_limit_closes_when_it_is_ready`",
                "fire",
                "if is_satisfied(until, limit, window, clocks):\n    return Finished()",
                "if is_satisfied(until, limit, window, clocks):\n    return OrFinallyState(inner, limit)",
            ),
            Mutant(
                "the next member of a sequence starts with the observations of its predecessor",
                "a member of a sequence observes from its own start: `a_repeated_trigger_equals_the_loop`",
                "fire",
                "initial_state(parts[active + 1])",
                "observe(parts[active + 1], initial_state(parts[active + 1]), "
                "inner.summary if isinstance(inner, OnceState) else TriggerSummary())",
            ),
            Mutant(
                "AtValue does not latch",
                "a once-trigger stays satisfied until it fires: `either_value`",
                "ValueLeaf.settle",
                "kept if kept.held or not self.holds(kept) else evolve(kept, held=True)",
                "evolve(kept, held=self.holds(kept))",
            ),
            Mutant(
                "And is due at the first of its deadlines",
                "timers fire when their trigger does: `continuous_mode_equals_the_loop_with_timers`, `both_delays`",
                "_satisfied_from",
                "max(decided) if len(decided) == len(points) else None",
                "min(decided) if len(decided) == len(points) else None",
            ),
            Mutant(
                "a signal to a key reaches all keys",
                "`a_signal_reaches_every_window`, and none of another key",
                "_reaches",
                "signal.key == key and type(signal.key) is type(key)",
                "True",
            ),
        ),
    ),
    Area(
        "panes",
        ("laws", "reference", "contents", "corrections", "step_pipelines"),
        (
            Mutant(
                "DISCARDING keeps the contents",
                "`the_discarding_panes_merge_to_the_batch_pane`",
                "WindowState._emit",
                "self._discard()",
                "pass",
            ),
            Mutant(
                "a retraction has the new value",
                "`a_retraction_repeats_the_current_pane`",
                "WindowState._retract",
                "Element(pane.element, pane.event_time, pane.window, -1, info)",
                "Element(KV(None, self.contents.extract()), pane.event_time, pane.window, -1, info)",
            ),
            Mutant(
                "a discarding sum omits a net retraction",
                "`discarding_shows_nothing_again`, and the panes of a sum add up when one of them is negative",
                "Contents.has_value",
                "self.size > 0 or (mode is Accumulation.DISCARDING and is_signed(self.combiner))",
                "self.size > 0",
            ),
            Mutant(
                "DISCARDING clears retractions without a value",
                "a retraction that arrives before its value waits for it in every mode",
                "Contents.after_discard",
                "rest.absorb(kept.value, kept.event_time, kept.weight)",
                "pass",
            ),
            Mutant(
                "NaN is not found when it is retracted",
                "a retraction removes an equal value, and NaN equals NaN there",
                "same",
                "comparable(left) is not left",
                "False",
            ),
            Mutant(
                "the event time of a retracted value still counts",
                "`a_retracted_element_leaves_no_trace`",
                "Contents.absorb",
                "self.times[time] += weight",
                "self.times[time] += 1",
            ),
            Mutant(
                "every pane has index 0",
                "`panes_are_numbered`",
                "WindowState._emit",
                "self.next_index += 1",
                "pass",
            ),
            Mutant(
                "a window is on time twice if the watermark equals its end",
                "`pane_timings_are_ordered`, `every_window_has_one_on_time_pane`",
                "timing",
                "before < window.end",
                "before <= window.end",
            ),
        ),
    ),
    Area(
        "lateness",
        ("laws", "reference", "corrections"),
        (
            Mutant(
                "a window expires at its end, ignoring the allowed lateness",
                "`longer_lateness_drops_no_more`, `nothing_is_dropped_with_unlimited_lateness`",
                "GroupingSpec.expired",
                "window.end + lateness",
                "window.end",
            ),
            Mutant(
                "lateness is decided by the watermark after the instant",
                "an element is late by the watermark of before: `every_element_is_accounted_for_once`",
                "Grouping._advance",
                "self._receive(received.elements, before, clocks.processing_time)",
                "self._receive(received.elements, clocks.watermark, clocks.processing_time)",
            ),
            Mutant(
                "expiry is tested before merging",
                "an element that joins a live session is not late, however old its own window is",
                "Grouping._receive",
                "by_key[key].append((element, window))",
                "if self.spec.expired(window, before):\n"
                "    self._drop(element, window, DropReason.EXPIRED, time)\n"
                "else:\n"
                "    by_key[key].append((element, window))",
            ),
            Mutant(
                "drops of closed windows are not reported",
                "`every_element_is_accounted_for_once`",
                "Grouping._receive",
                "self._drop(element, window, DropReason.CLOSED, time)",
                "pass",
            ),
            Mutant(
                "a closed window is deleted, and a later element opens it again",
                "a window whose trigger has finished stays closed: `a_limit_closes_when_it_is_ready`",
                "Grouping._evaluate",
                "if not state.closed and not state.is_vacant:\n    self._schedule(keyed_window, state, clocks)",
                "if not state.closed and not state.is_vacant:\n"
                "    self._schedule(keyed_window, state, clocks)\n"
                "else:\n"
                "    del self.windows[key][window]",
            ),
            Mutant(
                "pending elements are not emitted at the end of the input",
                "`the_last_accumulating_pane_is_the_batch_pane`: a bounded input leaves nothing pending",
                "WindowState.evaluate",
                "fires or expires or clocks.watermark == MAX_TIME",
                "fires or expires",
            ),
        ),
    ),
    Area(
        "merging",
        ("laws", "reference", "corrections", "pane_identity"),
        (
            Mutant(
                "merging loses the current panes",
                "a merged window retracts the panes of its parts: `a_retraction_repeats_the_current_pane`",
                "merge_windows",
                "merged.current_panes.extend(state.current_panes)",
                "pass",
            ),
            Mutant(
                "merging resets the trigger without the pending elements",
                "`a_merge_restarts_the_trigger_on_unemitted_elements`",
                "merge_windows",
                "merged.restart_trigger(spec)",
                "pass",
            ),
            Mutant(
                "closed sessions merge",
                "a window whose trigger has finished takes no elements, by merging neither",
                "Grouping._merge",
                "{window: state for window, state in windows.items() if not state.closed}",
                "dict(windows)",
            ),
            Mutant(
                "a second grouping merges windows again",
                "`downstream_windows_do_not_merge_again`",
                "Grouping._merge",
                "as_merging(self.spec.strategy.windows) if self.fresh else None",
                "as_merging(self.spec.strategy.windows)",
            ),
            Mutant(
                "merged windows never come apart",
                "`a_retracted_element_leaves_no_trace`: not in the bounds of a session either",
                "ProtoWindow.is_empty",
                "self.count == 0",
                "False",
            ),
            Mutant(
                "a part is emitted before the retraction of the pane with its bounds",
                "panes of equal bounds are in order: a retraction precedes what replaces it",
                "Grouping._advance",
                "if self.spec.unmerges:\n    panes.sort(key=lambda pane: pane[0])",
                "pass",
            ),
        ),
    ),
    Area(
        "holds",
        ("laws", "reference", "sides"),
        (
            Mutant(
                "a grouping does not hold the watermark back",
                "`a_hold_prevents_late_panes`",
                "Grouping._advance",
                "min(self.holds.values(), default=MAX_TIME)",
                "MAX_TIME",
            ),
            Mutant(
                "a hold ignores current panes, whose retractions carry their event times",
                "`a_hold_covers_pending_retractions`",
                "WindowState.hold",
                "min([self.pane_event_time(spec), *(pane.event_time for pane in self.current_panes)])",
                "self.pane_event_time(spec)",
            ),
            Mutant(
                "percentile watermarks are not held back",
                "`percentile_watermarks_advance_as_watermarks_do`",
                "Clocks.with_hold",
                "max(before.percentiles.get(q, MIN_TIME), min(point, hold))",
                "max(before.percentiles.get(q, MIN_TIME), point)",
            ),
            Mutant(
                "a hold is never released",
                "`no_hold_without_pending_elements`",
                "Grouping._forget",
                "self.holds.pop(keyed_window, None)",
                "pass",
            ),
            Mutant(
                "a union has the watermark of its fastest input",
                "`a_join_has_the_least_watermark`",
                "minimum",
                "min(part.watermark for part in clocks)",
                "max(part.watermark for part in clocks)",
            ),
            Mutant(
                "a side input is read before its window is complete",
                "`the_latest_complete_singleton_is_found_by_an_as_of_lookup`, whenever its elements come",
                "SideReader._passed",
                "time_read(self.view, window) <= self.side_clocks.watermark",
                "window.start <= self.side_clocks.watermark",
            ),
            Mutant(
                "elements that wait for a side input do not hold the watermark",
                "`a_side_input_drops_no_pane`",
                "SideReader.advance",
                "self.main_clocks.with_hold(until, self.output)",
                "self.main_clocks",
            ),
        ),
    ),
    Area(
        "joins",
        ("joins", "laws"),
        (
            Mutant(
                "a join forgets the values of earlier panes",
                "`discarding_joins_emit_each_pair_once`",
                "Join.discard",
                "Matches((_both((*accumulator.emitted, accumulator.new)),))",
                "Matches()",
            ),
            Mutant(
                "a pane of a merged window repeats the pairs inside of its parts",
                "`discarding_joins_emit_each_pair_once`, when sessions merge",
                "Join.extract",
                "(*groups[:number], *groups[number + 1 :])",
                "groups",
            ),
        ),
    ),
    Area(
        "computations",
        ("computations", "laws"),
        (
            Mutant(
                "elements are observed as they arrive",
                "`elements_of_an_instant_have_no_order`",
                "in_canonical_order",
                "sorted(elements, key=lambda element: (element.event_time, element.weight, sort_key(element.value)))",
                "sorted(elements, key=lambda element: element.event_time)",
            ),
            Mutant(
                "timers fire after all elements in order",
                "`in_order_the_division_into_instants_has_no_effect`",
                "Computing._advance_key",
                "self._fire(key, element.event_time, None)",
                "()",
            ),
            Mutant(
                "timers fire by tag",
                "`timers_fire_in_order_and_once`",
                "order_of_firing",
                "(isinstance(timer, ProcessingTimer), pending.point, timer.tag)",
                "(isinstance(timer, ProcessingTimer), timer.tag, pending.point)",
            ),
            Mutant(
                "an element and its retraction do not cancel out",
                "`a_retraction_before_the_watermark_is_not_late`",
                "net",
                "opposite is None",
                "True",
            ),
        ),
    ),
)
