"""Choices as lines of plain text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.wording import about, lateness_told, policy_told, share_told

_HEADS: Final = (
    ("", "", "allowed", "", "", "latency,", "latency,", "panes per", "windows kept,", "windows kept,"),
    ("", "policy", "lateness", "late", "dropped", "median", "95 in 100", "window", "mean", "most"),
)
_WORDS: Final = 2
"""How many columns are words, which are put to the left."""


def table(choices: Sequence[Choice], frontier: Collection[Choice]) -> str:
    """A line for each choice, under two lines that say what the columns are; ``*`` is before the frontier."""
    rows = [*_HEADS, *(_row(one, one in frontier) for one in choices)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    return "\n".join(
        [*lines, "* no other choice is as good in late, dropped, median latency and mean, and better in one"]
    )


def _row(choice: Choice, best: bool) -> tuple[str, ...]:
    latency = choice.latency
    return (
        "*" if best else "",
        policy_told(choice.policy),
        lateness_told(choice.allowed_lateness),
        share_told(choice.late_share),
        share_told(choice.dropped_share),
        "none" if latency is None else about(latency.median),
        "none" if latency is None else about(latency.p95),
        f"{choice.panes_per_window:.2f}",
        f"{choice.kept.mean:,.1f}",
        f"{choice.kept.most:,}",
    )


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = list(zip(row, widths, strict=True))
    words = [cell.ljust(width) for cell, width in cells[:_WORDS]]
    return words + [cell.rjust(width) for cell, width in cells[_WORDS:]]


__all__ = ["table"]
