"""Choices as a plain-text table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.formatting import format_lateness, format_policy, format_rounded, format_share

_HEADINGS: Final = (
    ("", "", "allowed", "", "", "latency", "latency", "panes per", "live windows", "live windows"),
    ("", "policy", "lateness", "late", "dropped", "median", "95%", "window", "mean", "maximum"),
)
_LEFT_ALIGNED: Final = 2
"""The number of columns that are aligned to the left."""


def format_table(choices: Sequence[Choice], frontier: Collection[Choice]) -> str:
    """Returns a line for each choice, below two lines of headings; ``*`` marks the choices on the frontier."""
    rows = [*_HEADINGS, *(_row(choice, choice in frontier) for choice in choices)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(_align(row, widths)).rstrip() for row in rows]
    return "\n".join(
        [
            *lines,
            "* not dominated: no other choice is better in late, dropped, latency or state and equal in the rest",
        ]
    )


def _row(choice: Choice, on_frontier: bool) -> tuple[str, ...]:
    latency = choice.latency
    return (
        "*" if on_frontier else "",
        format_policy(choice.policy),
        format_lateness(choice.allowed_lateness),
        format_share(choice.late_share),
        format_share(choice.dropped_share),
        "none" if latency is None else format_rounded(latency.median),
        "none" if latency is None else format_rounded(latency.p95),
        f"{choice.panes_per_window:.2f}",
        f"{choice.state.mean:,.1f}",
        f"{choice.state.maximum:,}",
    )


def _align(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = list(zip(row, widths, strict=True))
    left = [cell.ljust(width) for cell, width in cells[:_LEFT_ALIGNED]]
    return left + [cell.rjust(width) for cell, width in cells[_LEFT_ALIGNED:]]
