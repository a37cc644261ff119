"""Faults of computations: of their order, their timers, their holds, and their failures."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

COMPUTATION_MUTANTS: Final = (
    Replacement(
        "elements are observed as they arrive",
        "in_canonical_order",
        "sorted(elements, key=lambda each: (each.event_time, each.weight, sort_key(each.value)))",
        "sorted(elements, key=lambda each: each.event_time)",
    ),
    Replacement(
        "retractions come after values",
        "in_canonical_order",
        "(each.event_time, each.weight, sort_key(each.value))",
        "(each.event_time, -each.weight, sort_key(each.value))",
    ),
    Replacement(
        "elements are observed after the watermark",
        "Computing._advance_key",
        "self._observe(key, element, before)",
        "self._observe(key, element, watermark)",
    ),
    Replacement(
        "an element at the watermark does not wait",
        "Computing._advance_key",
        "element.event_time >= watermark",
        "element.event_time > watermark",
    ),
    Replacement(
        "timers fire after all elements in order",
        "Computing._advance_key",
        "self._fire(key, element.event_time, None)",
        "()",
    ),
    Replacement(
        "a timer at the watermark does not fire",
        "Computing._next_due.is_due",
        "timer.point <= watermark",
        "timer.point < watermark",
    ),
    Replacement(
        "timers fire by tag",
        "order_of_firing",
        "(isinstance(timer, ProcessingTimer), pending.point, timer.tag)",
        "(isinstance(timer, ProcessingTimer), timer.tag, pending.point)",
    ),
    Replacement(
        "timers of processing time fire first",
        "order_of_firing",
        "isinstance(timer, ProcessingTimer)",
        "not isinstance(timer, ProcessingTimer)",
    ),
    Replacement(
        "a timer that has failed fires again",
        "Computing._without_timer",
        "tag != timer.tag",
        "True",
    ),
    Replacement(
        "a hold outlives the input",
        "Computing.advance",
        "known.hold is not None and not self._has_ended",
        "known.hold is not None",
    ),
    Replacement(
        "a timer that was set again fires at the end",
        "Computing._fire_last",
        "current.timers.get(pending.timer.tag) is not pending",
        "False",
    ),
    Replacement(
        "timers of processing time have no horizon",
        "Computing._advance_key",
        "self._fire_last(key, horizon)",
        "self._fire_last(key, MAX_TIME)",
    ),
    Replacement(
        "the horizon is that of the elements that pass",
        "Operators._make",
        "horizon_of(elements)",
        "horizon_of(elements[:0])",
    ),
    Replacement(
        "the step forgets timers of processing time at the end",
        "_write_timers",
        "min(due_watermark[row], MAX_TIME)",
        "due_watermark[row]",
    ),
    Replacement(
        "the step keeps what was set when the input had ended",
        "KeyRun.fire_at_end",
        "self.known is not None and self.known.timers",
        "False",
    ),
    Replacement(
        "holds are ignored",
        "Computing.advance",
        "min(holds, default=MAX_TIME)",
        "MAX_TIME",
    ),
    Replacement(
        "late elements are not dropped",
        "Computing._receive",
        "element.event_time < dropped_before(self.calls.computation, self.late, before)",
        "False",
    ),
    Replacement(
        "an element and its retraction do not cancel out",
        "net",
        "opposite is None",
        "True",
    ),
    Replacement(
        "a continuous engine has no deadlines of timers",
        "Computing.next_deadline",
        "isinstance(timer, ProcessingTimer)",
        "False",
    ),
    Replacement(
        "a freed key keeps its state",
        "Computing._call",
        "effect.after is None",
        "False",
    ),
    Replacement(
        "a transition clears no timers",
        "Calls._checked",
        "timers.pop(tag, None)",
        "None",
    ),
    Replacement(
        "an output may be before its cause",
        "Calls._checked",
        "point < earliest",
        "False",
    ),
    Replacement(
        "a hold of the previous transition does not count",
        "Calls._checked",
        "cause if before.hold is None else min(cause, before.hold)",
        "cause",
    ),
    Replacement(
        "an output of a timer of processing time is late",
        "PendingTimer.time_at",
        "max(self.cause, watermark)",
        "self.cause",
    ),
    Replacement(
        "outputs keep the windows of the input",
        "Process.windowing",
        "Windowing(self.input.windowing.strategy, fresh=True)",
        "self.input.windowing",
    ),
    Replacement(
        "a computation may ignore retractions",
        "Process.__attrs_post_init__",
        "self.input.may_retract and not self.in_order and self.computation.on_retraction is None",
        "False",
    ),
    Replacement(
        "a batch observes elements as they arrive",
        "_for_batch",
        "evolve(node, in_order=True, late=Late.DROP)",
        "node",
    ),
    Replacement(
        "an id is forgotten a microsecond later",
        "EmitFirst._end",
        "event_time(observed.event_time) + self.micros",
        "event_time(observed.event_time) + self.micros + 1",
    ),
    Replacement(
        "the last elements are not emitted",
        "EmitEvery.__call__",
        "() if kept else (EventTimer(REST, MAX_TIME.datetime),)",
        "()",
    ),
    Replacement(
        "keys with due timers stay dormant in the step",
        "_write_timers",
        "min(due[row], point)",
        "due[row]",
    ),
    Replacement(
        "waiting elements do not wake up their key",
        "with_waiting",
        "pl.min_horizontal(DUE_WATERMARK, _PASSED)",
        "pl.col(DUE_WATERMARK).fill_null(NEVER)",
    ),
    Replacement(
        "the step has no deadlines of timers",
        "_write_timers",
        "due_time if of_clock else due_watermark",
        "[*due_time] if of_clock else due_watermark",
    ),
    Replacement(
        "the step forgets the holds of dormant keys",
        "write_states",
        "MAX_TIME if each.hold is None else each.hold",
        "MAX_TIME",
    ),
    Replacement(
        "a state of another type is written to columns",
        "write_states",
        "not stage.state.is_exact(values)",
        "False",
    ),
    Replacement(
        "timers of the step fire by tag",
        "_next_due",
        "(of_clock, point, tag)",
        "(of_clock, 0, tag)",
    ),
    Replacement(
        "the step forgets elements that wait",
        "compute",
        "ready.filter(passed), ready.filter(~passed)",
        "ready.filter(passed), ready.clear()",
    ),
    Replacement(
        "retractions of the step cancel nothing",
        "_without_cancelled",
        "abs(net)",
        "len(equal)",
    ),
    Replacement(
        "values without an order of columns are observed as they arrive",
        "_by_value",
        "(groups[row], sort_key(values[row]))",
        "groups[row]",
    ),
    Replacement(
        "the step keeps an id at the watermark",
        "run_deduplication",
        "pl.col(POINT) > watermark",
        "pl.col(POINT) >= watermark",
    ),
    Replacement(
        "the step emits the last element of an id",
        "run_deduplication",
        'timed.unique(by, keep="first", maintain_order=True)',
        'timed.unique(by, keep="last", maintain_order=True)',
    ),
    Replacement(
        "in order, the step keeps an id a microsecond longer",
        "_first_in_order",
        "time >= end",
        "time > end",
    ),
    Replacement(
        "the step emits no rest of tuples",
        "run_tuples",
        "watermark >= MAX_TIME",
        "False",
    ),
    Replacement(
        "the step emits tuples at the time of their first element",
        "run_tuples",
        "pl.last(EVENT_TIME)",
        "pl.first(EVENT_TIME)",
    ),
)
