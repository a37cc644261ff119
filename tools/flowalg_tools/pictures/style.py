"""How things look: colours that colour-blind people tell apart (Okabe and Ito's), and lines and marks beside them."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from flowalg.runs.panes import Timing
from flowalg_tools.pictures.elements import Fate

INK: Final = "#222222"
GREY: Final = "#5a5a5a"
PALE: Final = "#dddddd"
BLUE: Final = "#0072b2"
VERMILION: Final = "#d55e00"


@frozen
class Look:
    """A name, a colour, a line, and the marks or the hatch that tell it apart without colour."""

    name: str
    colour: str
    line: str
    width: float
    hatch: str = ""


TIMINGS: Final = {
    Timing.EARLY: Look("early pane", "#56b4e9", "--", 1.2, "//"),
    Timing.ON_TIME: Look("on-time pane", "#009e73", "-", 1.6),
    Timing.LATE: Look("late pane", "#e69f00", ":", 1.8, "\\\\\\\\"),
}
RETRACTION: Final = Look("retraction", VERMILION, "-", 0.8, "//////")

MARKS: Final = {
    Fate.ON_TIME: ("o", "#222222"),
    Fate.LATE: ("^", VERMILION),
    Fate.DROPPED: ("x", "#a0487f"),
}

__all__ = ["BLUE", "GREY", "INK", "MARKS", "PALE", "RETRACTION", "TIMINGS", "VERMILION", "Look"]
