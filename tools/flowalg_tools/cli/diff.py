"""``flowalg diff``: what tells two triggers apart."""

from __future__ import annotations

from flowalg import describe
from flowalg_tools.cli.expressions import trigger_of
from flowalg_tools.cli.files import extra
from flowalg_tools.cli.terminal import show, working


def differ(left: str, right: str, timelines: int) -> bool:
    """Print the smallest timeline found on which two triggers say something else; tell whether there is one."""
    with extra("laws"):
        from flowalg_laws import Difference, find_difference
    one, other = trigger_of(left, "the first TRIGGER"), trigger_of(right, "the second TRIGGER")
    with working("looking for a timeline"):
        found = find_difference(one, other, timelines=timelines)
    if not isinstance(found, Difference):
        show(f"left:  {describe(one)}\nright: {describe(other)}\n")
    show(str(found))
    return isinstance(found, Difference)


__all__ = ["differ"]
