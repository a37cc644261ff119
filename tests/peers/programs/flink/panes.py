"""Results of Flink: triggers, lateness, accumulation, several groupings, sessions, joins."""

from __future__ import annotations

from feed import (
    BASE,
    CLOCK,
    COMPOSITE,
    CORRECTION,
    JOINED,
    LATE,
    LATENESS,
    SESSIONS,
    TOO_LATE,
    WINDOW,
    print_cells,
)
from jobs import CORRECTED, MINUTES, run, select
from pyflink.common import Time, Types
from pyflink.datastream import OutputTag, ProcessWindowFunction
from pyflink.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

TOTALS = (
    f"SELECT player, SUM(points) AS total, TUMBLE_START(happened, {MINUTES}) AS begins FROM scores "
    f"WHERE player <> '{CLOCK}' GROUP BY player, TUMBLE(happened, {MINUTES})"
)


class EarlyAndLate(Trigger):
    """Fires for each second element before the end of a window, at its end, and for each element after it."""

    COUNT = ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        """Fires if two elements have come since the last time, or if the window is complete."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        count = ctx.get_partitioned_state(self.COUNT)
        count.add(1)
        if count.get() < 2:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        """Does nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        """Fires at the end of the window."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        """Does nothing: the windows are fixed."""

    def clear(self, window, ctx):
        """Removes the timer and the count."""
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self.COUNT).clear()


class Timed(ProcessWindowFunction):
    """Emits the sum of a window with its timing, from the watermark and a state of the window."""

    COMPLETE = ValueStateDescriptor("complete", Types.BOOLEAN())

    def process(self, key, context, elements):
        """Emits a pair."""
        complete = context.window_state().get_state(self.COMPLETE)
        timing = "late" if complete.value() else "on_time"
        if context.current_watermark() < context.window().max_timestamp():
            timing = "early"
        else:
            complete.update(True)
        yield timing, sum(points for _, points in elements)

    def clear(self, context):
        """Removes the state."""
        context.window_state().get_state(self.COMPLETE).clear()


def windows(stream, trigger=None, assigner=None):
    """Returns the windows of each player, minutes by default, with the allowed lateness."""
    keyed = stream.key_by(lambda pair: pair[0], Types.STRING())
    windowed = keyed.window(assigner or TumblingEventTimeWindows.of(Time.seconds(WINDOW)))
    return windowed.allowed_lateness(LATENESS * 1000).trigger(trigger or EventTimeTrigger.create())


def sums(stream, trigger=None):
    """Returns the sums of the minutes."""
    return windows(stream, trigger).reduce(lambda a, b: (a[0], a[1] + b[1]))


def composite() -> object:
    """Early, on-time and late panes of one window, by a trigger of one's own."""
    timed = Types.TUPLE([Types.STRING(), Types.LONG()])
    rows = run(lambda stream: windows(stream, EarlyAndLate()).process(Timed(), timed), COMPOSITE)
    return [list(row) for row in rows]


def late() -> object:
    """An on-time pane and a late one."""
    return [points for _, points in run(sums, LATE)]


def modes() -> object:
    """The panes of a trigger, of one that purges, and the changes of SQL's late firing."""
    retracted = select(TOTALS, LATE[:-2], **CORRECTED)
    purged = run(lambda stream: sums(stream, PurgingTrigger.of(EventTimeTrigger.create())), LATE[:-2])
    return {
        "accumulating": [f"+{points}" for _, points in run(sums, LATE[:-2])],
        "discarding": [f"+{points}" for _, points in purged],
        "retracting": [f"{sign}{total}" for sign, _, total, _ in retracted],
    }


def drops() -> object:
    """The panes, and the side output of late elements."""
    tag = OutputTag("late", Types.TUPLE([Types.STRING(), Types.LONG()]))

    def both(stream):
        panes = windows(stream).side_output_late_data(tag).reduce(lambda a, b: (a[0], a[1] + b[1]))
        named = [
            part.map(lambda pair, name=name: (name, pair[1]), Types.TUPLE([Types.STRING(), Types.LONG()]))
            for name, part in (("panes", panes), ("dropped", panes.get_side_output(tag)))
        ]
        return named[0].union(named[1])

    rows = run(both, TOO_LATE)
    return {name: [points for kind, points in rows if kind == name] for name in ("panes", "dropped")}


def chain() -> object:
    """The number of players by their total, before and after a late correction."""
    query = f"SELECT total, COUNT(*) AS players FROM ({TOTALS}) GROUP BY begins, total"
    before_and_after = []
    for steps in (CORRECTION[:3], CORRECTION):
        counts: dict[str, int] = {}
        for sign, total, players in select(query, steps, **CORRECTED):
            if sign == "+":
                counts[str(total)] = players
            elif counts.get(str(total)) == players:
                del counts[str(total)]
        before_and_after.append(counts)
    return before_and_after


class Bounded(ProcessWindowFunction):
    """Emits the sum of a window with its bounds."""

    def process(self, key, context, elements):
        """Emits the start, the end and the sum."""
        window = context.window()
        yield window.start // 1000 - BASE, window.end // 1000 - BASE, sum(points for _, points in elements)

    def clear(self, context):
        """Does nothing: there is no state."""


def sessions() -> object:
    """The panes of sessions that a late element joins; SQL has no late rows of sessions."""
    bounded = Types.TUPLE([Types.LONG()] * 3)
    gap = EventTimeSessionWindows.with_gap(Time.seconds(WINDOW))
    rows = run(lambda stream: windows(stream, assigner=gap).process(Bounded(), bounded), SESSIONS)
    return [["+", *row] for row in rows]


def joins() -> object:
    """The changes of a left join of the totals by minute, with a late match."""
    query = (
        f"WITH totals AS ({TOTALS}) SELECT o.total, p.total FROM totals o "
        "LEFT JOIN totals p ON o.begins = p.begins AND p.player = 'payment' WHERE o.player = 'order'"
    )
    # The sides are grouped at the same time, so without a pause the payment could be first.
    return select(query, JOINED, pause=1, **CORRECTED)


if __name__ == "__main__":
    print_cells(composite, late, modes, drops, chain, sessions, joins)
