"""Draws a soak: memory, state, lag and the duration of micro-batches over time, for each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from flowalg_tools.pictures.files import save
from flowalg_tools.pictures.style import INK, PALE, PALETTE
from matplotlib.figure import Figure

from tests.faults.soak.supervising import Supervised

PANELS: Final = (
    "memory in megabytes",
    "open windows",
    "lag of the watermark in seconds",
    "seconds of a micro-batch",
)


def points(query: Supervised, start: datetime) -> Sequence[Sequence[tuple[float, float]]]:
    """Returns the points of each panel: minutes since the start, and the value."""
    lines: list[Mapping[str, Any]] = list(query.progress())
    timed = [((datetime.fromisoformat(line["time"]) - start).total_seconds() / 60, line) for line in lines]
    staged = [(minute, line, line["stages"][0]) for minute, line in timed if line["stages"]]
    return (
        [(sample.seconds / 60, sample.megabytes) for sample in query.samples],
        [(minute, stage["windows"]) for minute, _, stage in staged],
        [
            (minute, stage["watermark_lag"])
            for minute, _, stage in staged
            if stage["watermark_lag"] is not None
        ],
        [(minute, line["seconds"]) for minute, line, _ in staged],
    )


def draw(queries: Sequence[Supervised], start: datetime, path: Path) -> None:
    """Draws all queries into one picture; a thin line is a restart."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    rows: Any = figure.subplots(2, 2, sharex=True)
    for number, title in enumerate(PANELS):
        axes = rows[number // 2][number % 2]
        for colour, query in zip(PALETTE, queries, strict=False):
            curve = points(query, start)[number]
            axes.plot(*zip(*curve, strict=True), color=colour, linewidth=1, label=query.query.name)
            for kill in query.kills:
                axes.axvline(kill / 60, color=PALE, linewidth=0.8, zorder=0)
        axes.set_title(title, loc="left", color=INK)
        axes.set_ylim(bottom=0)
        if number >= 2:
            axes.set_xlabel("minutes")
    rows[0][0].legend()
    save(figure, path)
