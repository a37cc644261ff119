"""Draws the results: latencies as distributions, the lag of watermarks over time, and the effect of the state cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from flowalg_tools.pictures.files import save
from flowalg_tools.pictures.style import BLUE, INK, PALE, PALETTE
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.benchmarks.millwheel import on_spark
from docs.benchmarks.millwheel.latency import LOCAL, PRODUCTIONS, lag_case, latency_case
from docs.benchmarks.millwheel.latency_on_spark import SPARK
from docs.benchmarks.millwheel.pipelines import STAGES
from docs.benchmarks.results import Result

PICTURES: Final = Path(__file__).parents[2] / "pictures"
ENGINES: Final = (LOCAL, SPARK)
LINES: Final = ("-", "--")
"""The lines of a chain of one stage, and of three."""

ByCase = Mapping[str, Mapping[str, Any]]


def draw(results: Sequence[Result], folder: Path = PICTURES) -> list[Path]:
    """Draws what there are results for; returns the files."""
    by_case = {str(result["case"]): result for result in results}
    drawn = []
    for name, picture in (("latency", latencies), ("lag", lags), ("cache", caches)):
        figure = picture(by_case)
        if figure is not None:
            path = folder / f"millwheel-{name}.svg"
            save(figure, path)
            drawn.append(path)
    return drawn


def latencies(by_case: ByCase) -> Figure | None:
    """The part of the records that are output within a time, for each engine."""
    engines = [engine for engine in ENGINES if any(case.startswith(f"latency, {engine}") for case in by_case)]
    if not engines:
        return None
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, engine in zip(_panels(figure, len(engines)), engines, strict=True):
        for line, stages in zip(LINES, STAGES, strict=True):
            for colour, production in zip(PALETTE, PRODUCTIONS, strict=False):
                case = latency_case(engine, stages, production)
                if case in by_case:
                    plural = "s" if stages > 1 else ""
                    axes.plot(
                        by_case[case]["percentiles_ms"],
                        np.arange(1, 100),
                        line,
                        color=colour,
                        label=f"{stages} stage{plural}, {production}",
                    )
        axes.set_title(engine, loc="left", color=INK)
        axes.set_xlabel("milliseconds from arrival to output")
        axes.set_xscale("log")
        axes.set_ylabel("percent of the records")
    _legend(figure)
    return figure


def lags(by_case: ByCase) -> Figure | None:
    """The lag of the watermark at each stage over time, for each engine."""
    engines = [engine for engine in ENGINES if lag_case(engine) in by_case]
    if not engines:
        return None
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for axes, engine in zip(_panels(figure, len(engines)), engines, strict=True):
        result = by_case[lag_case(engine)]
        stages = list(result["median_s"])
        for colour, width, stage in zip(PALETTE, (3.0, 1.4, 1.4), stages, strict=False):
            points = result["points"]
            axes.plot(
                [seconds for seconds, _ in points],
                [by_stage[stage] for _, by_stage in points],
                color=colour,
                linewidth=width,
                label=stage,
            )
        axes.set_title(engine, loc="left", color=INK)
        axes.set_xlabel("seconds")
        axes.set_ylabel("watermark lag in seconds")
        axes.set_ylim(bottom=0)
    _legend(figure)
    return figure


def caches(by_case: ByCase) -> Figure | None:
    """The time of a batch by the size of the cache."""
    cases = [by_case[case] for part in on_spark.PARTS if (case := on_spark.cache_case(part)) in by_case]
    if not cases:
        return None
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    (axes,) = _panels(figure, 1)
    sizes = [case["cache_mib"] for case in cases]
    axes.plot(sizes, [case["flowalg_s"] for case in cases], color=BLUE, marker="o")
    axes.axvline(cases[0]["state_mib"], color=INK, linestyle=":", label="size of the state")
    axes.set_xlabel("state cache of a worker, MiB")
    axes.set_ylabel("seconds per batch")
    axes.set_ylim(bottom=0)
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    """Draws the legend of the first panel, which has all lines, below the panels."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)


def _panels(figure: Figure, count: int) -> list[Axes]:
    panels: list[Axes] = list(np.atleast_1d(figure.subplots(1, count)))
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=PALE, linewidth=0.5)
        axes.set_axisbelow(True)
    return panels
