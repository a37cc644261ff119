"""One replay of a run that records every evaluation and call, from which any number of explanations are made."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from attrs import define, evolve, field, frozen

from flowalg.analysis.capabilities import Mode
from flowalg.computations.calls import Effect
from flowalg.data.time import Micros, ProcessingTime
from flowalg.pipeline.nodes import GroupingNode, Node
from flowalg.pipeline.outputs import emits_panes
from flowalg.runs.elements import pane_of
from flowalg.runs.instants import PipelineInstant
from flowalg.runs.output import OutputElement, sort_elements
from flowalg.runs.panes import Pane
from flowalg.triggers.syntax import Trigger, leaves
from flowalg_reference.bad_records import BadRecords
from flowalg_reference.debugging.history import History, SelectedInstants, TimelineHistory
from flowalg_reference.debugging.selection import NotSeparableError, Selection
from flowalg_reference.grouping import Grouping, depends_on_every_instant
from flowalg_reference.operators import NodeFunction, Operators
from flowalg_reference.trace import Call, Evaluation, Receipt, Traced


@frozen(eq=False)
class Recording:
    """A replay of a run up to a processing time, or to its end: its output, what it has traced, and the state after it.

    The first ``panes_of_run`` panes are those of the run; others fire at deadlines after its last instant. If nothing
    groups them, the output is ``elements``, in the order of the run, each with the effect of the call that emitted it.
    """

    operators: Operators
    panes: tuple[Pane[object], ...]
    panes_of_run: int
    elements: tuple[tuple[OutputElement[object], Effect | None], ...]
    traced: tuple[Traced, ...]
    last: PipelineInstant | None

    @cached_property
    def evaluations(self) -> Sequence[Evaluation]:
        """All evaluations of windows, in order."""
        return [evaluation for evaluation in self.traced if isinstance(evaluation, Evaluation)]

    @cached_property
    def calls(self) -> Sequence[Call]:
        """All calls of computations, in order."""
        return [call for call in self.traced if isinstance(call, Call)]

    @cached_property
    def _emitters(self) -> Mapping[int, Call]:
        """The call of each effect, by the identity of the effect."""
        return {id(call.effect): call for call in self.calls}

    def call_of(self, effect: Effect) -> Call:
        """Returns the call that had an effect."""
        return self._emitters[id(effect)]

    @cached_property
    def setters(self) -> Mapping[int, Call]:
        """The call that set each timer, by the identity of the pending timer."""
        setters: dict[int, Call] = {}
        for call in self.calls:
            if isinstance(call.effect, Effect) and call.effect.after is not None:
                for pending in call.effect.after.timers.values():
                    setters.setdefault(id(pending), call)
        return setters

    @cached_property
    def receipts(self) -> Mapping[int, Receipt]:
        """When each element was received that a computation has observed, by the identity of the element."""
        return {id(receipt.element): receipt for receipt in self.traced if isinstance(receipt, Receipt)}

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        """The number of the evaluation that emitted each pane, by the identity of the pane's info."""
        return {
            id(element.info): number
            for number, evaluation in enumerate(self.evaluations)
            for element in evaluation.panes
        }

    @cached_property
    def _by_key(self) -> Mapping[tuple[int, object], Sequence[int]]:
        """The numbers of the evaluations of each key of a grouping."""
        numbers = defaultdict(list)
        for number, evaluation in enumerate(self.evaluations):
            numbers[id(evaluation.spec), evaluation.key].append(number)
        return numbers

    def evaluation_of(self, pane: Pane[object]) -> Evaluation:
        """Returns the evaluation that emitted one of the panes."""
        return self.evaluations[self._numbers[id(pane.info)]]

    def evaluations_before(self, pane: Pane[object]) -> Sequence[Evaluation]:
        """Returns the evaluations of the key of a pane before the one that emitted it, in order."""
        number = self._numbers[id(pane.info)]
        evaluation = self.evaluations[number]
        numbers = self._by_key[id(evaluation.spec), evaluation.key]
        return [self.evaluations[earlier] for earlier in numbers[: bisect_left(numbers, number)]]


def record(
    root: Node, mode: Mode, history: TimelineHistory, until: ProcessingTime | None = None
) -> Recording:
    """Replays a whole run."""
    return _Replay.of(root, mode, history, history.everything, _operators(history)).run(until)


def record_selected(
    root: Node,
    grouping: GroupingNode,
    mode: Mode,
    history: History,
    selection: Selection,
    until: ProcessingTime | None = None,
    *,
    last_deadline: ProcessingTime | None = None,
) -> Recording:
    """Replays the selected elements of a run with one grouping, in the instants that affect their windows.

    ``last_deadline`` is the last deadline of any key after the last instant, if it is known to be up to ``until``.
    Raises ``NotSeparableError`` if their windows depend on elements of other keys (see ``Selection``).
    """
    selected = history.select(grouping, selection)
    operators = evolve(_operators(history), selects=selection.selects)
    replay = _Replay.of(root, mode, history, selected, operators, separate=grouping)
    return replay.run(until, last_deadline)


def _operators(history: History) -> Operators:
    return Operators(bad=BadRecords.of(dead_letters=history.dead_letters))


def longest_delay(trigger: Trigger) -> Micros | None:
    """Returns the longest time from an element of a trigger to its deadline; ``None`` if it has no deadline."""
    waits = (leaf.longest_wait for leaf in leaves(trigger))
    return max((wait for wait in waits if wait is not None), default=None)


@define
class _Replay:
    """A replay in progress: ``visited`` is the number of the last instant that it has visited, or -1.

    If the windows of one grouping are replayed separately, it is ``separate``. Only the instants that affect them are
    visited then, each after the instant before it, whose clocks it needs.
    """

    mode: Mode
    times: Sequence[int]
    watermarks: Sequence[int]
    instants: SelectedInstants
    operators: Operators
    operator: NodeFunction
    separate: GroupingNode | None
    traced: list[Traced]
    emits_panes: bool
    panes: list[Pane[object]] = field(factory=list)
    elements: list[tuple[OutputElement[object], Effect | None]] = field(factory=list)
    visited: int = -1
    last: PipelineInstant | None = None

    @classmethod
    def of(
        cls,
        root: Node,
        mode: Mode,
        history: History,
        instants: SelectedInstants,
        operators: Operators,
        *,
        separate: GroupingNode | None = None,
    ) -> _Replay:
        traced: list[Traced] = []
        operators.record = traced.append
        (operator,) = operators.of(root)
        times, watermarks = history.times, history.watermarks
        return cls(
            mode, times, watermarks, instants, operators, operator, separate, traced, emits_panes(root)
        )

    def run(self, until: ProcessingTime | None, last_deadline: ProcessingTime | None = None) -> Recording:
        """Replays the instants up to a processing time, and the deadlines up to it."""
        end = len(self.times) if until is None else bisect_right(self.times, until)
        position = 0
        while position < end:
            position = self._advance(position, end)
        self._visit(end - 1)
        panes_of_run = len(self.panes)
        if until is not None and end:
            self._fire_deadlines(end, until)
            if (
                last_deadline is not None
                and self.last is not None
                and last_deadline > self.last.processing_time
            ):
                self._step(self.instants.at(end - 1).empty_at(last_deadline))
            panes_of_run = len(self.panes) if end < len(self.times) else panes_of_run
        effects = {id(output): effect for output, effect in self.elements}
        elements = tuple(
            (output, effects[id(output)]) for output in sort_elements(o for o, _ in self.elements)
        )
        return Recording(
            self.operators, tuple(self.panes), panes_of_run, elements, tuple(self.traced), self.last
        )

    def _advance(self, position: int, end: int) -> int:
        """Replays the next deadline or affected instant from a position on, and returns the position after it."""
        number = self._next_affected(position, end)
        deadline = self.operators.next_deadline()
        if deadline is not None:
            due = bisect_left(self.times, deadline, position)
            if due <= number and due < end:
                if self.mode is Mode.CONTINUOUS and self.times[due] > deadline:
                    self._visit(due - 1)
                    self._step(self.instants.at(due - 1).empty_at(deadline))
                    return due
                number = due
        if number < end:
            self._visit(number - 1)
            self._visit(number)
        return number + 1

    def _next_affected(self, position: int, end: int) -> int:
        """Returns the number of the next instant that affects a window without a deadline; ``end`` if there is none."""
        busy = self.instants.busy
        index = bisect_left(busy, position)
        number = busy[index] if index < len(busy) else end
        if self.separate is not None:
            grouping = self.operators.groupings[id(self.separate)]
            if grouping.event_timers:
                point = grouping.event_timers[0][0]
                number = min(number, bisect_left(self.watermarks, point, position))
            if self._evaluates_in_every_instant(grouping):
                number = position
        return min(number, end)

    def _evaluates_in_every_instant(self, grouping: Grouping) -> bool:
        """Returns whether the next instant evaluates a window, whatever happens in it.

        Raises ``NotSeparableError`` if the next instant may be a deadline of another key.
        """
        trigger = grouping.spec.strategy.trigger
        if not grouping.ready_again and not (depends_on_every_instant(trigger) and grouping.windows):
            return False
        if self.mode is Mode.CONTINUOUS and longest_delay(trigger) is not None:
            raise NotSeparableError
        return True

    def _fire_deadlines(self, end: int, until: ProcessingTime) -> None:
        """Replays the deadlines after the last instant, up to a processing time."""
        if self.mode is Mode.CONTINUOUS:
            self._require_separable()
            while (deadline := self.operators.next_deadline()) is not None and deadline <= until:
                self._step(self.instants.at(end - 1).empty_at(deadline))
                self._require_separable()

    def _require_separable(self) -> None:
        """Raises ``NotSeparableError`` if a deadline of another key would evaluate a window."""
        if self.separate is not None:
            self._evaluates_in_every_instant(self.operators.groupings[id(self.separate)])

    def _visit(self, number: int) -> None:
        """Replays an instant, unless it is before the first or has been visited."""
        if number > self.visited:
            self._step(self.instants.at(number))
            self.visited = number

    def _step(self, instant: PipelineInstant) -> None:
        emitted, time = self.operator(instant).elements, instant.processing_time
        if self.emits_panes:
            self.panes.extend(map(pane_of, emitted))
        else:
            outputs = (OutputElement(element.value, element.event_time, time) for element in emitted)
            self.elements.extend(zip(outputs, (element.effect for element in emitted), strict=True))
        self.last = instant
