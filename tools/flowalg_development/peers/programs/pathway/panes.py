"""Results of Pathway: delays, cutoffs, corrections, sessions, joins."""

from __future__ import annotations

import pathway as pw
from feed import COMPOSITE, CORRECTION, JOINED, LATE, SESSIONS, TOO_LATE, WINDOW, print_cells
from tables import MINUTES, first, run, sums


def values(changes) -> list:
    """Returns the values that are added."""
    return [points for sign, points in first(changes) if sign == "+"]


def composite() -> object:
    """The values of a minute with a delay of its results, and without."""
    return {
        "delay": values(run(sums, COMPOSITE)),
        "no delay": values(run(lambda table: sums(table, None), COMPOSITE)),
    }


def late() -> object:
    """The values of a minute."""
    return values(run(sums, LATE))


def modes() -> object:
    """The changes of a minute."""
    return {"retracting": [f"{sign}{points}" for sign, points in first(run(sums, LATE[:-2]))]}


def drops() -> object:
    """The values of a minute, to which two elements are too late."""
    return {"panes": values(run(sums, TOO_LATE)), "dropped": []}


def chain() -> object:
    """The number of players by their total, before and after a late correction."""

    def counts(table):
        totals = sums(table)
        minute = totals.filter((totals.start == 0) & (totals.player != "clock"))
        return minute.groupby(minute.points).reduce(minute.points, count=pw.reducers.count())

    found = []
    for steps in (CORRECTION[:3], CORRECTION):
        current = {}
        for _, sign, row in run(counts, steps):
            current[str(row["points"])] = row["count"] if sign == "+" else 0
        found.append({total: count for total, count in current.items() if count})
    return found


def sessions() -> object:
    """The changes of sessions, whose end is that of the last element."""

    def by_session(table):
        windows = table.windowby(table.at, window=pw.temporal.session(max_gap=WINDOW), instance=table.player)
        return windows.reduce(
            player=pw.this._pw_instance,
            start=pw.this._pw_window_start,
            end=pw.this._pw_window_end,
            points=pw.reducers.sum(pw.this.points),
        )

    return [
        [sign, row["start"], row["end"], row["points"]]
        for _, sign, row in run(by_session, SESSIONS)
        if row["player"] == "ann"
    ]


def joins() -> object:
    """The changes of a left join by minute."""

    def joined(table):
        order, payment = (table.filter(table.player == name) for name in ("order", "payment"))
        pairs = order.window_join_left(payment, order.at, payment.at, MINUTES)
        return pairs.select(order=order.points, payment=payment.points)

    return [[sign, row["order"], row["payment"]] for _, sign, row in run(joined, JOINED)]


if __name__ == "__main__":
    print_cells(composite, late, modes, drops, chain, sessions, joins)
