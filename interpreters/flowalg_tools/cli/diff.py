"""``flowalg diff``: a timeline on which two triggers emit different panes."""

from __future__ import annotations

from flowalg.triggers import describe
from flowalg_tools.cli.expressions import parse_trigger
from flowalg_tools.cli.files import require_extra
from flowalg_tools.cli.terminal import show, spinner


def compare_triggers(left: str, right: str, timelines: int) -> bool:
    """Prints the smallest timeline found on which two triggers emit different panes; returns whether there is one."""
    with require_extra("laws"):
        from flowalg_laws import Difference, find_difference
    first, second = parse_trigger(left, "the first TRIGGER"), parse_trigger(right, "the second TRIGGER")
    with spinner("searching for a timeline"):
        result = find_difference(first, second, timelines=timelines)
    if not isinstance(result, Difference):
        show(f"left:  {describe(first)}\nright: {describe(second)}\n")
    show(str(result))
    return isinstance(result, Difference)
