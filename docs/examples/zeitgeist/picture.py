"""The picture of Zeitgeist: the searches of some queries per second, what was injected, and the alerts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from flowalg_tools.pictures.files import save
from flowalg_tools.pictures.style import BLUE, GREY, INK, PALE, VERMILION
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from zeitgeist.scores import AlertElement, Scores
from zeitgeist.searches import BEGIN, SECOND, Kind, Traffic

COLOURS = {Kind.SPIKE: VERMILION, Kind.DIP: BLUE}
MARKERS = {Kind.SPIKE: "^", Kind.DIP: "v"}


def draw(traffic: Traffic, alerts: Sequence[AlertElement], scores: Scores, path: Path) -> None:
    """Draws the three queries with the most anomalies to an ``.svg`` or ``.png`` file."""
    queries = [anomaly.query for anomaly in traffic.injected]
    chosen = sorted(sorted(set(queries)), key=queries.count)[-3:]
    figure = Figure(figsize=(11, 6), layout="constrained")
    title = (
        f"Searches per second: {len(scores.found)} of {len(scores.detections)} anomalies found, "
        f"{len(scores.false_alerts)} false alerts, median delay {scores.median_delay / SECOND:.1f} s"
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    panels: list[Axes] = list(np.atleast_1d(figure.subplots(len(chosen), 1, sharex=True)))
    for axes, query in zip(panels, sorted(chosen), strict=True):
        _draw_query(axes, query, traffic, alerts)
    panels[-1].set_xlabel("event time in seconds; an alert stands at the processing time of its output")
    labels = [Patch(color=COLOURS[kind], alpha=0.25, label=f"injected {kind.value}") for kind in Kind]
    points = [
        Line2D([], [], color=COLOURS[kind], marker=MARKERS[kind], linestyle="", label=f"alert: {kind.value}")
        for kind in Kind
    ]
    figure.legend(handles=[*labels, *points], loc="outside lower center", ncols=4, frameon=False)
    save(figure, path)


def _draw_query(axes: Axes, query: str, traffic: Traffic, alerts: Sequence[AlertElement]) -> None:
    times = (
        traffic.frame.filter(query=query)["at"].dt.epoch("us").to_numpy() - int(BEGIN.timestamp()) * 1_000_000
    )
    counts = np.bincount(times // 1_000_000)
    axes.step(np.arange(len(counts)), counts, where="post", color=GREY, linewidth=0.8)
    for anomaly in traffic.injected:
        if anomaly.query == query:
            start, end = ((point - BEGIN) / SECOND for point in (anomaly.start, anomaly.end))
            axes.axvspan(start, end, color=COLOURS[anomaly.kind], alpha=0.25, linewidth=0)
    for alert in alerts:
        if alert.key == query:
            kind = alert.value.kind
            at = (alert.processing_time.datetime - BEGIN) / SECOND
            axes.plot([at], [alert.value.expected], color=COLOURS[kind], marker=MARKERS[kind], markersize=8)
    axes.set_ylabel(query)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=PALE, linewidth=0.5)
    axes.set_axisbelow(True)
