"""Results of Quix's windows: final and current ones, late elements, several groupings, sessions, joins."""

from __future__ import annotations

from apps import MINUTE, START, first, keyed, run, windows
from feed import COMPOSITE, CORRECTION, JOINED, LATE, LATENESS, SESSIONS, TOO_LATE, as_elements, print_cells

DELAYS = (0, LATENESS)


def composite() -> object:
    """The current results of a window, one for each element, and those of a callback that ends it after two."""

    def early(frame):
        counted = windows(frame, LATENESS, after_update=lambda total, *_: total[1] == 2)
        return counted.reduce(
            lambda total, value: [total[0] + value, total[1] + 1], lambda value: [value, 1]
        ).final()

    return {
        "current": first(run(lambda frame: windows(frame, LATENESS).sum().current(), keyed(COMPOSITE))),
        "early": [total for total, _ in first(run(early, keyed(COMPOSITE)))],
    }


def late() -> object:
    """The final results without a grace period, and the current ones with the lateness as the grace period."""
    return {
        "final": first(run(lambda frame: windows(frame).sum().final(), keyed(LATE))),
        "current": first(run(lambda frame: windows(frame, LATENESS).sum().current(), keyed(LATE))),
    }


def modes() -> object:
    """The current results, which replace each other."""
    totals = first(run(lambda frame: windows(frame, LATENESS).sum().current(), keyed(LATE[:-2])))
    return {"accumulating": [f"+{total}" for total in totals]}


def drops() -> object:
    """The final results, and the elements of the callback ``on_late``."""
    dropped: list = []
    on_late = lambda value, *_: dropped.append(value)  # noqa: E731
    panes = first(run(lambda frame: windows(frame, on_late=on_late).sum().final(), keyed(TOO_LATE)))
    return {"panes": panes, "dropped": dropped}


def chain() -> object:
    """The number of players by their total, before and after a late correction, by the grace period."""

    def counts(grace: int):
        def build(frame):
            totals = windows(frame, grace).sum().final().filter(lambda result: result["start"] == START)
            players = totals.group_by(lambda result: str(result["value"]), name="total", key_serializer="str")
            counted = windows(players, name="players").count().current()
            return counted.apply(lambda result, key, *_: (key, result["value"]), metadata=True)

        return build

    return {
        f"grace {grace}": [dict(run(counts(grace), keyed(steps))) for steps in (CORRECTION[:3], CORRECTION)]
        for grace in DELAYS
    }


def sessions() -> object:
    """The final sessions, which elements of any key close, by the grace period."""

    def by_session(grace: int):
        def build(frame):
            found = frame.session_window(MINUTE, grace_ms=grace * 1000).sum().final("partition")
            return found.filter(lambda result: result["value"] > 0)

        return build

    return {
        f"grace {grace}": [
            ["+", *((result[bound] - START) // 1000 for bound in ("start", "end")), result["value"]]
            for result in run(by_session(grace), as_elements(SESSIONS))
        ]
        for grace in DELAYS
    }


def joins() -> object:
    """The rows of a left join of two topics, whose elements are a minute apart at most."""
    sides = [[("A1", {step.key: step.value}, step.at) for step in (JOINED[index],)] for index in (0, 2)]

    def joined(order, payment):
        return order.join_interval(
            payment, how="left", forward_ms=MINUTE, on_merge=lambda a, b: {**a, **(b or {})}
        )

    return [["+", row["order"], row.get("payment")] for row in run(joined, *sides)]


if __name__ == "__main__":
    print_cells(composite, late, modes, drops, chain, sessions, joins)
