"""Time in Quix Streams: percentile watermarks, idle sources, timers, replay, and why there is no result yet."""

from __future__ import annotations

from apps import MINUTE, first, keyed, run, windows
from feed import ARRIVALS, LATENESS, element, print_cells, refusal, watermark
from quixstreams import Application
from quixstreams.dataframe import StreamingDataFrame

STEPS = (element("all", 5, 10), element("all", 3, 20), watermark(61))


def names(*words: str) -> list[str]:
    """Returns the names of applications and of data frames with one of the words."""
    found = [name for kind in (Application, StreamingDataFrame) for name in dir(kind)]
    return [name for name in found if any(word in name.lower() for word in words)]


def percentile() -> object:
    """The kind of error of a window with a percentile watermark."""
    found = refusal(lambda: StreamingDataFrame.tumbling_window(None, MINUTE, percentile=0.9))
    return found.partition(":")[0]


def idle() -> object:
    """The first minute of two topics, one of which is silent after its first element."""
    a = [("all", 5, 10), *(("all", 7, at) for at in (70, 90, 110, 130))]
    return first(run(lambda a, b: windows(a.concat(b)).sum().final(), a, [("all", 1, 15)]))


def timers() -> object:
    """The sums of a stateful function, and the names of timers."""

    def add(value, state):
        state.set("total", state.get("total", 0) + value)
        return state.get("total")

    totals = run(lambda frame: frame.apply(add, stateful=True), keyed(STEPS[:2]))
    return {"state": totals, "timers": names("timer", "schedule")}


def replay() -> object:
    """The final results of recorded rows, with a grace period of 5 seconds, and the current ones."""
    rows = [("all", value, at) for _, value, at in ARRIVALS]
    return {
        "final": first(run(lambda frame: windows(frame, 5).sum().final(), rows)),
        "current": first(run(lambda frame: windows(frame, LATENESS).sum().current(), rows)),
    }


def explanations() -> object:
    """The names of what could show a watermark, or why a window waits."""
    return names("watermark", "why", "explain", "pending")


if __name__ == "__main__":
    print_cells(percentile, idle, timers, replay, explanations)
