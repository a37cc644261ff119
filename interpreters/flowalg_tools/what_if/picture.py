"""The picture of a grid: the effect of a longer wait, and that of a longer allowed lateness.

In the left panel each policy is a point: the higher the latency, the fewer elements are late. In the right panel each
choice is a point: the more windows are kept, the fewer elements are dropped; a line joins the choices of one policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from flowalg.watermarks import WatermarkPolicy
from flowalg_tools.pictures.files import save
from flowalg_tools.pictures.style import GREY, INK, PALE, PALETTE
from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.formatting import format_policy

_MARKERS: Final = "os^Dvph*<>X"
"""One marker for each policy of a class; the class determines the colour."""

_DASHES: Final = (0, (5, 3))

_SMALL: Final = 0.1
"""The scale of shares is linear below this percentage, so that it has a zero, and logarithmic above."""

_UNITS: Final = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))

_Styles = dict[WatermarkPolicy, tuple[str, str]]


def draw(
    choices: Sequence[Choice],
    frontier: Collection[Choice],
    recommended: Choice | None,
    title: str,
    path: Path,
) -> None:
    """Draws choices to an ``.svg`` or ``.png`` file."""
    styles = dict(_styles(choices))
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    left, right = figure.subplots(1, 2)
    _draw_latency(left, choices, frontier, recommended, styles)
    _draw_state(right, choices, frontier, recommended, styles)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=PALE, linewidth=0.5)
        axes.set_axisbelow(True)
        axes.margins(0.06)
        axes.set_yscale("symlog", linthresh=_SMALL, linscale=0.5)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda percent, _: f"{percent:g}%"))
        axes.set_ylim(-_SMALL / 4, 2 * max(100 * choice.late_share for choice in choices) + _SMALL)
    _add_legend(left, styles, recommended)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, path)


def _styles(choices: Sequence[Choice]) -> Iterator[tuple[WatermarkPolicy, tuple[str, str]]]:
    """The colour and the marker of each policy."""
    by_class: dict[type[WatermarkPolicy], list[WatermarkPolicy]] = {}
    for choice in choices:
        policies = by_class.setdefault(type(choice.policy), [])
        if choice.policy not in policies:
            policies.append(choice.policy)
    for number, policies in enumerate(by_class.values()):
        for position, policy in enumerate(policies):
            yield policy, (PALETTE[number % len(PALETTE)], _MARKERS[position % len(_MARKERS)])


def _draw_point(
    axes: Axes, position: tuple[float, float], style: tuple[str, str], *, on_frontier: bool, recommended: bool
) -> None:
    """A choice: filled if it is on the frontier, with a ring if it is recommended."""
    colour, marker = style
    x, y = position
    face = colour if on_frontier else "white"
    axes.scatter([x], [y], s=44, marker=marker, edgecolors=colour, facecolors=face, zorder=3)
    if recommended:
        axes.scatter([x], [y], s=230, marker="o", edgecolors=INK, facecolors="none", linewidths=1.6, zorder=4)


def _draw_frontier(axes: Axes, positions: Sequence[tuple[float, float]]) -> None:
    """The frontier of the two costs of a panel: no choice is to the left of it or below."""
    edge: list[tuple[float, float]] = []
    for x, y in sorted(positions):
        if not edge or y < edge[-1][1]:
            edge.append((x, y))
    if edge:
        axes.step(
            *zip(*edge, strict=True), where="post", color=GREY, linewidth=1, linestyle=_DASHES, zorder=1
        )


def _draw_latency(
    axes: Axes,
    choices: Sequence[Choice],
    frontier: Collection[Choice],
    recommended: Choice | None,
    styles: _Styles,
) -> None:
    """Late elements against latency: a point for each policy, since the allowed lateness changes neither."""
    latest = max(
        (choice.latency.median for choice in choices if choice.latency is not None), default=timedelta(0)
    )
    unit, seconds = next((unit for unit in _UNITS if latest.total_seconds() >= 2 * unit[1]), _UNITS[-1])
    positions = []
    for policy, style in styles.items():
        of_policy = [choice for choice in choices if choice.policy == policy]
        latency = of_policy[0].latency
        if latency is not None:
            position = (latency.median.total_seconds() / seconds, 100 * of_policy[0].late_share)
            on_frontier = any(choice in frontier for choice in of_policy)
            _draw_point(axes, position, style, on_frontier=on_frontier, recommended=recommended in of_policy)
            positions.append(position)
    _draw_frontier(axes, positions)
    axes.set_title("A longer wait: fewer late elements", loc="left", fontsize=10)
    axes.set_xlabel(f"median latency of on-time panes ({unit})")
    axes.set_ylabel("late elements, including dropped ones")


def _draw_state(
    axes: Axes,
    choices: Sequence[Choice],
    frontier: Collection[Choice],
    recommended: Choice | None,
    styles: _Styles,
) -> None:
    """Dropped elements against state: a line for each policy, along its allowed lateness."""
    for policy, style in styles.items():
        of_policy = sorted(
            (choice for choice in choices if choice.policy == policy), key=lambda choice: choice.state.mean
        )
        positions = [(choice.state.mean, 100 * choice.dropped_share) for choice in of_policy]
        axes.plot(*zip(*positions, strict=True), color=style[0], linewidth=0.8, alpha=0.5, zorder=2)
        for choice, position in zip(of_policy, positions, strict=True):
            _draw_point(
                axes, position, style, on_frontier=choice in frontier, recommended=choice == recommended
            )
    _draw_frontier(axes, [(choice.state.mean, 100 * choice.dropped_share) for choice in choices])
    axes.set_title(
        "A longer allowed lateness (along a line): fewer dropped elements", loc="left", fontsize=10
    )
    axes.set_xlabel("state: live windows (mean over processing time)")
    axes.set_ylabel("dropped elements")


def _add_legend(axes: Axes, styles: _Styles, recommended: Choice | None) -> None:
    """Adds empty collections with the labels of the legend."""
    for policy, (colour, marker) in styles.items():
        axes.scatter([], [], s=44, marker=marker, color=colour, label=format_policy(policy))
    axes.scatter([], [], s=0, label=" ")
    axes.scatter([], [], s=44, color=GREY, label="on the Pareto frontier of all four costs")
    axes.scatter([], [], s=44, edgecolors=GREY, facecolors="white", label="dominated by another choice")
    axes.plot([], [], color=GREY, linewidth=1, linestyle=_DASHES, label="frontier of the two costs shown")
    if recommended is not None:
        axes.scatter([], [], s=150, edgecolors=INK, facecolors="none", linewidths=1.6, label="recommended")
