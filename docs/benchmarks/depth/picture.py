"""Draws the latency of windows by the depth of a chain, by its partitions and by the rate, and the table of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from flowalg_tools.pictures.files import save
from flowalg_tools.pictures.style import INK, PALE, PALETTE
from matplotlib.figure import Figure

from docs.benchmarks.results import Result

PICTURE: Final = Path(__file__).parents[2] / "pictures" / "depth.svg"
BY_DEPTH: Final = "by groupings"
BY_LOAD: Final = "by partitions and rate"
PANELS: Final = {
    "depth": (BY_DEPTH, "groupings"),
    "shards": (BY_LOAD, "partitions of the state"),
    "rate": (BY_LOAD, "records per second"),
}
"""The series of each panel, and its label."""
USUAL: Final = {"depth": 3, "shards": 2, "rate": 5_000}
"""What stays the same in a panel that is not about it."""


def draw(results: Sequence[Result], path: Path) -> None:
    """Draws a panel for each quantity: the median of each engine, and its 95th percentile above it.

    A quantity of which there is one value has no panel, except the depth.
    """
    steps_of = {
        name: sorted({float(result[name]) for result in results_of(results, name)}) for name in PANELS
    }
    shown = [name for name in PANELS if len(steps_of[name]) > 1 or name == "depth"]
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for axes, quantity in zip(
        figure.subplots(1, len(shown), sharey=True, squeeze=False)[0], shown, strict=True
    ):
        for engine, colour in zip(engines_of(results), PALETTE, strict=False):
            points = series(results, engine, quantity)
            steps = [point[quantity] for point in points]
            axes.plot(steps, [point["p50_ms"] for point in points], "o-", color=colour, label=engine)
            axes.plot(steps, [point["p95_ms"] for point in points], ":", color=colour)
        axes.set_xlabel(PANELS[quantity][1])
        axes.set_yscale("log")
        if quantity == "rate":
            axes.set_xscale("log")
        axes.set_xticks(steps_of[quantity], [f"{step:,.0f}" for step in steps_of[quantity]])
        axes.set_xticks([], minor=True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=PALE, linewidth=0.5)
        axes.set_axisbelow(True)
    first = figure.axes[0]
    first.set_ylabel("milliseconds from the end of a window")
    first.set_title("median, and 95th percentile (dotted)", loc="left", color=INK, fontsize=9)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    save(figure, path)


def engines_of(results: Sequence[Result]) -> list[str]:
    """Returns the engines in the order of their results."""
    return list(dict.fromkeys(str(result["engine"]) for result in results))


def results_of(results: Sequence[Result], quantity: str) -> list[dict[str, Any]]:
    """Returns the results of a panel, in which only its quantity differs from the usual."""
    usual = {"series": PANELS[quantity][0]} | {
        name: value for name, value in USUAL.items() if name != quantity
    }
    return [result for result in results if all(result[name] == value for name, value in usual.items())]


def series(results: Sequence[Result], engine: str, quantity: str) -> list[dict[str, Any]]:
    """Returns the results of an engine in a panel, in the order of its quantity."""
    shown = [result for result in results_of(results, quantity) if result["engine"] == engine]
    return sorted(shown, key=lambda result: float(result[quantity]))


def table(results: Sequence[Result]) -> Iterator[str]:
    """The results as a table: a row for each load of a series, a column for each engine."""
    engines = engines_of(results)
    yield f"| series | groupings | partitions | records per second | {' | '.join(engines)} |"
    yield f"| --- | ---: | ---: | ---: |{' ---: |' * len(engines)}"
    by_load: dict[tuple[object, ...], dict[str, str]] = defaultdict(dict)
    for result in results:
        load = tuple(result[name] for name in ("series", *USUAL))
        by_load[load][str(result["engine"])] = f"{result['p50_ms']} / {result['p95_ms']}"
    for load, cells in by_load.items():
        yield f"| {' | '.join(map(str, load))} | {' | '.join(cells.get(engine, '') for engine in engines)} |"
