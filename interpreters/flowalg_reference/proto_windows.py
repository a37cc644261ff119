"""Merged windows that come apart when the elements that joined them are retracted (SEMANTICS section 5, step 2).

Where elements may be retractions, a merged window keeps the contents of its proto-windows: the windows that were
assigned to its elements. In each instant that brings elements of a key, the proto-windows of the key, without those
that have become empty, are partitioned again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from flowalg.data.time import EventTime
from flowalg.runs.elements import Element
from flowalg.windows.window import Window, covers
from flowalg.windows.window_functions import MergingWindowFn, merged_windows
from flowalg_reference.trigger_state import TriggerSummary
from flowalg_reference.window_state import GroupingSpec, ProtoWindow, WindowState, merge_windows


@frozen
class Arrival:
    """An element of a key, the value of its pair, the window that was assigned to it, and its trigger summary."""

    element: Element
    value: object
    assigned: Window
    summary: TriggerSummary


@frozen
class Regrouped:
    """The windows of a key after an instant, those that have changed, and the elements that are dropped as expired."""

    windows: dict[Window, WindowState]
    changed: list[Window]
    dropped: list[Arrival]


def regroup(
    windows: Mapping[Window, WindowState],
    arrivals: Sequence[Arrival],
    spec: GroupingSpec,
    merging: MergingWindowFn,
    before: EventTime,
) -> Regrouped:
    """Performs steps 1 to 3 for the elements of a key, of which none is inside a closed window.

    A live window *stays* if its proto-windows are still in one group that covers it. Any other has come apart: its
    parts start again, with everything that they hold as pending, and its current panes are retracted. A window whose
    bounds are gone leaves its number of panes behind, since the bounds may come again.
    """
    live = {at: state for at, state in windows.items() if state.proto_windows and not state.closed}
    owners = {proto: at for at, state in live.items() for proto in state.proto_windows or ()}
    groups = _partition(live.values(), arrivals, spec, merging)
    targets = {proto: window for window, group in groups.items() for proto in group}
    staying: dict[Window, Window] = {}
    for at, state in live.items():
        reached = {targets[proto] for proto in state.proto_windows or () if proto in targets}
        if len(reached) == 1 and covers(target := reached.pop(), at):
            staying[at] = target
    joining: dict[Window | None, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        owner = owners.get(arrival.assigned)
        former = None if owner is None else staying.get(owner)
        joining[targets.get(arrival.assigned, former)].append(arrival)

    indices = {at: state.next_index for at, state in windows.items()}
    ended = {at: state.current_panes for at, state in live.items() if at not in staying}
    after = {at: state for at, state in windows.items() if at not in live}
    result = Regrouped(after, [], [])
    for window, group in groups.items():
        members = [live[at] for at, target in staying.items() if target == window]
        parts = [
            _part(window, held, spec)
            for at in ended
            if (held := [proto for assigned, proto in group.items() if owners.get(assigned) == at])
        ]
        if not members and not parts and spec.expired(window, before):
            result.dropped.extend(joining[window])
            continue
        state = merge_windows(window, [*members, *parts], spec, before)
        state.next_index = indices.get(window, 0)
        state.ended_panes = ended.get(window, [])
        state.proto_windows = dict(sorted(group.items()))
        state.merge_proto_windows(spec)
        bundle = TriggerSummary()
        for arrival in joining[window]:
            bundle = bundle.merge(arrival.summary)
            if arrival.assigned in group:
                group[arrival.assigned].observe(arrival.summary)
        state.observe(spec, bundle)
        state.changed = state.changed or bool(joining[window])
        after[window] = state
        if joining[window] or parts or len(members) > 1 or state.ended_panes:
            result.changed.append(window)
    for at in live.keys() - after.keys():
        gone = WindowState.vacant(at, indices[at], spec)
        gone.ended_panes = ended.get(at, [])
        if gone.next_index or gone.ended_panes:
            after[at] = gone
            result.changed.append(at)
    return result


def _partition(
    live: Iterable[WindowState], arrivals: Iterable[Arrival], spec: GroupingSpec, merging: MergingWindowFn
) -> dict[Window, dict[Window, ProtoWindow]]:
    """Returns the proto-windows of each window, after they have absorbed the elements of an instant."""
    protos = {at: proto for state in live for at, proto in (state.proto_windows or {}).items()}
    for arrival in arrivals:
        proto = protos.setdefault(arrival.assigned, ProtoWindow.new(spec))
        proto.absorb(arrival.value, arrival.element.event_time, arrival.element.weight)
    held = {at: proto for at, proto in protos.items() if not proto.is_empty}
    groups: dict[Window, dict[Window, ProtoWindow]] = defaultdict(dict)
    for merged in merged_windows(merging, held) if held else ():
        groups[merged.window].update((at, held[at]) for at in merged.parts)
    return groups


def _part(window: Window, held: Iterable[ProtoWindow], spec: GroupingSpec) -> WindowState:
    """Returns a part of a window that has come apart, as a window that has everything pending."""
    part = WindowState.new(window, spec)
    for proto in held:
        part.pending = part.pending.merge(proto.observed)
        part.changed = part.changed or proto.changed
    part.restart_trigger(spec)
    return part
