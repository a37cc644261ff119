"""Results of Bytewax's windows: one for each window, late elements, sessions, joins."""

from __future__ import annotations

import bytewax.operators as op
from bytewax.operators import windowing as win
from feed import COMPOSITE, CORRECTION, JOINED, LATE, SESSIONS, TOO_LATE, print_cells
from flows import CLOCK, MINUTES, SECOND, START, collect, first, items, sums
from flows import SESSIONS as BY_SESSION


def composite() -> object:
    """The results of a window: one, when it is complete."""
    return first(collect(lambda stream: sums(stream).down, items(COMPOSITE)))


def late() -> object:
    """The results of a window, and its late elements."""
    return {
        "results": first(collect(lambda stream: sums(stream).down, items(LATE))),
        "late": [value[0] for value in first(collect(lambda stream: sums(stream).late, items(LATE)))],
    }


def modes() -> object:
    """The results of a window before anything is too late."""
    return [f"+{value}" for value in first(collect(lambda stream: sums(stream).down, items(LATE[:-2])))]


def drops() -> object:
    """The results of a window, and its late elements."""
    given = items(TOO_LATE)
    late = first(collect(lambda stream: sums(stream).late, given))
    return {
        "panes": first(collect(lambda stream: sums(stream).down, given)),
        "dropped": [value[0] for value in late],
    }


def chain() -> object:
    """The number of players by their total, before and after a late correction."""

    def counts(stream):
        minute = op.filter("first", sums(stream).down, lambda item: item[1][0] == 0)
        return op.count_final("count", minute, lambda item: str(item[1][1]))

    return [dict(collect(counts, items(steps))) for steps in (CORRECTION[:3], CORRECTION)]


def sessions() -> object:
    """The sessions with their bounds: of the last element, in Bytewax."""
    given = items(SESSIONS)
    bounds = {
        number: (window.open_time, window.close_time)
        for _, (number, window) in collect(lambda stream: sums(stream, BY_SESSION).meta, given)
    }
    results = collect(lambda stream: sums(stream, BY_SESSION).down, given)
    seconds = {n: [round((time - START) / SECOND) for time in times] for n, times in bounds.items()}
    return [["+", *seconds[number], total] for _, (number, total) in results if total]


def joins() -> object:
    """The rows of a join by minute when the minute is complete."""

    def joined(stream):
        order, payment = (
            op.map(f"key {name}", op.filter(f"only {name}", stream, keep(name)), lambda item: ("A1", item[1]))
            for name in ("order", "payment")
        )
        return win.join_window("join", CLOCK, MINUTES, order, payment, emit_mode="final").down

    rows = first(collect(joined, items(JOINED)))
    return [["+", *(None if side is None else side[0] for side in row)] for row in rows]


def keep(name: str):
    """Returns a filter of the elements of a key."""
    return lambda item: item[0] == name


if __name__ == "__main__":
    print_cells(composite, late, modes, drops, chain, sessions, joins)
