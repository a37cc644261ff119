"""The styles of pictures: colours for colour-blind readers (Okabe and Ito), line styles and markers."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from flowalg.data.metadata import Timing
from flowalg_tools.pictures.elements import ElementStatus

INK: Final = "#222222"
GREY: Final = "#5a5a5a"
PALE: Final = "#dddddd"
BLUE: Final = "#0072b2"
VERMILION: Final = "#d55e00"
PALETTE: Final = (BLUE, "#e69f00", "#009e73", "#a0487f", "#56b4e9", VERMILION)
"""Colours for categories."""


@frozen
class Style:
    """The name, colour, line style, line width and hatch of something in a picture."""

    name: str
    colour: str
    line: str
    width: float
    hatch: str = ""


TIMING_STYLES: Final = {
    Timing.EARLY: Style("early pane", "#56b4e9", "--", 1.2, "//"),
    Timing.ON_TIME: Style("on-time pane", "#009e73", "-", 1.6),
    Timing.LATE: Style("late pane", "#e69f00", ":", 1.8, "\\\\\\\\"),
}
PLAIN_STYLE: Final = Style("pane", "#7f7f7f", "-", 1.2)
RETRACTION_STYLE: Final = Style("retraction", VERMILION, "-", 0.8, "//////")

STATUS_MARKERS: Final = {
    ElementStatus.ON_TIME: ("o", "#222222"),
    ElementStatus.LATE: ("^", VERMILION),
    ElementStatus.DROPPED: ("x", "#a0487f"),
}
