"""The picture of a grid: what waiting longer buys, and what allowing more lateness buys.

On the left each policy is a point: the longer results take, the fewer elements are late. On the right each choice is
one: the more windows are kept, the fewer elements are dropped; the choices of one policy are joined.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Final

from flowalg.data.errors import MissingExtraError
from flowalg.watermarks import WatermarkPolicy
from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.wording import policy_told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK: Final = "#222222"
_GREY: Final = "#8a8a8a"
_COLOURS: Final = ("#4477aa", "#ee8800", "#228833", "#aa3377", "#66ccee", "#bbbb44")
"""One for each kind of policy, distinct to any eye."""

_MARKERS: Final = "os^Dvph*<>X"
"""One for each policy of a kind."""

_DASHES: Final = (0, (5, 3))

_SMALL: Final = 0.1
"""The percentage below which the scale of shares is linear, so that it has a zero; above, it is logarithmic."""

_UNITS: Final = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))


def draw(
    choices: Sequence[Choice],
    frontier: Collection[Choice],
    recommended: Choice | None,
    title: str,
    path: str | PathLike[str],
) -> None:
    """Draw choices to a file, in the format of its suffix; raises ``MissingExtraError`` without matplotlib."""
    try:
        import_module("matplotlib")
    except ModuleNotFoundError as missing:
        raise MissingExtraError("a picture needs the package matplotlib: install flowalg[plot]") from missing
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    styles = dict(_styles(choices))
    with mpl.rc_context({"font.size": 9.5, "text.color": INK, "svg.hashsalt": "what if"}):
        figure = Figure(figsize=(11, 5.6), layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
        left, right = figure.subplots(1, 2)
        _waiting(left, choices, frontier, recommended, styles)
        _keeping(right, choices, frontier, recommended, styles)
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="#e6e6e6", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.margins(0.06)
            axes.set_yscale("symlog", linthresh=_SMALL, linscale=0.5)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda percent, _: f"{percent:g}%"))
            axes.set_ylim(-_SMALL / 4, 2 * max(100 * one.late_share for one in choices) + _SMALL)
        _legend(left, styles, recommended)
        figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
        suffix = str(path).rpartition(".")[2].lower()
        figure.savefig(path, dpi=160, metadata={"Date": None} if suffix == "svg" else None)


def _styles(choices: Sequence[Choice]) -> Iterator[tuple[WatermarkPolicy, tuple[str, str]]]:
    """The colour and the marker of each policy."""
    kinds: dict[type[WatermarkPolicy], list[WatermarkPolicy]] = {}
    for choice in choices:
        known = kinds.setdefault(type(choice.policy), [])
        if choice.policy not in known:
            known.append(choice.policy)
    for number, policies in enumerate(kinds.values()):
        for position, policy in enumerate(policies):
            yield policy, (_COLOURS[number % len(_COLOURS)], _MARKERS[position % len(_MARKERS)])


_Styles = dict[WatermarkPolicy, tuple[str, str]]


def _point(
    axes: Axes, place: tuple[float, float], style: tuple[str, str], *, best: bool, taken: bool
) -> None:
    """A choice: filled on the frontier, hollow otherwise; ringed if it is the recommended one."""
    colour, marker = style
    x, y = place
    axes.scatter(
        [x], [y], s=44, marker=marker, edgecolors=colour, facecolors=colour if best else "white", zorder=3
    )
    if taken:
        axes.scatter([x], [y], s=230, marker="o", edgecolors=INK, facecolors="none", linewidths=1.6, zorder=4)


def _edge(axes: Axes, places: Sequence[tuple[float, float]]) -> None:
    """The frontier of the two costs that are drawn: nothing lies to the left of it and below."""
    edge: list[tuple[float, float]] = []
    for x, y in sorted(places):
        if not edge or y < edge[-1][1]:
            edge.append((x, y))
    if edge:
        axes.step(
            *zip(*edge, strict=True), where="post", color=_GREY, linewidth=1, linestyle=_DASHES, zorder=1
        )


def _waiting(
    axes: Axes, choices: Sequence[Choice], frontier: Collection[Choice], taken: Choice | None, styles: _Styles
) -> None:
    """Late elements against latency: a point for each policy, as the allowed lateness changes neither."""
    latest = max((one.latency.median for one in choices if one.latency is not None), default=timedelta(0))
    unit, seconds = next((one for one in _UNITS if latest.total_seconds() >= 2 * one[1]), _UNITS[-1])
    places = []
    for policy, style in styles.items():
        of_policy = [one for one in choices if one.policy == policy]
        latency = of_policy[0].latency
        if latency is not None:
            place = (latency.median.total_seconds() / seconds, 100 * of_policy[0].late_share)
            best = any(one in frontier for one in of_policy)
            _point(axes, place, style, best=best, taken=taken in of_policy)
            places.append(place)
    _edge(axes, places)
    axes.set_title("Waiting longer: fewer are late", loc="left", fontsize=10)
    axes.set_xlabel(f"median latency of on-time panes ({unit})")
    axes.set_ylabel("late elements, dropped ones included")


def _keeping(
    axes: Axes, choices: Sequence[Choice], frontier: Collection[Choice], taken: Choice | None, styles: _Styles
) -> None:
    """Dropped elements against state: a line for each policy, along its allowed latenesses."""
    for policy, style in styles.items():
        of_policy = sorted((one for one in choices if one.policy == policy), key=lambda one: one.kept.mean)
        places = [(one.kept.mean, 100 * one.dropped_share) for one in of_policy]
        axes.plot(*zip(*places, strict=True), color=style[0], linewidth=0.8, alpha=0.5, zorder=2)
        for one, place in zip(of_policy, places, strict=True):
            _point(axes, place, style, best=one in frontier, taken=one == taken)
    _edge(axes, [(one.kept.mean, 100 * one.dropped_share) for one in choices])
    axes.set_title("Allowing more lateness (along a line): fewer are dropped", loc="left", fontsize=10)
    axes.set_xlabel("state: windows kept (mean over processing time)")
    axes.set_ylabel("dropped elements")


def _legend(axes: Axes, styles: _Styles, recommended: Choice | None) -> None:
    """What the points are, as empty collections with labels."""
    for policy, (colour, marker) in styles.items():
        axes.scatter([], [], s=44, marker=marker, color=colour, label=policy_told(policy))
    axes.scatter([], [], s=0, label=" ")
    axes.scatter([], [], s=44, color=_GREY, label="on the Pareto frontier of all four costs")
    axes.scatter([], [], s=44, edgecolors=_GREY, facecolors="white", label="beaten by another choice")
    axes.plot([], [], color=_GREY, linewidth=1, linestyle=_DASHES, label="frontier of the two costs drawn")
    if recommended is not None:
        axes.scatter([], [], s=150, edgecolors=INK, facecolors="none", linewidths=1.6, label="recommended")


__all__ = ["draw"]
