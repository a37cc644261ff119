"""Windows, the window functions that assign them, and the windowing strategy of a grouping."""

from flowalg.windows.calendars import CalendarDays, CalendarMonths, CalendarWeeks
from flowalg.windows.strategy import (
    FOREVER,
    Accumulation,
    AllowedLateness,
    OnTimeBehavior,
    TimestampCombiner,
    WindowingStrategy,
)
from flowalg.windows.window import GLOBAL_WINDOW, Window
from flowalg.windows.window_functions import (
    CustomWindows,
    FixedWindows,
    GlobalWindows,
    MergedWindow,
    Sessions,
    SlidingWindows,
    WindowFn,
    WindowsByValue,
)

__all__ = [
    "FOREVER",
    "GLOBAL_WINDOW",
    "Accumulation",
    "AllowedLateness",
    "CalendarDays",
    "CalendarMonths",
    "CalendarWeeks",
    "CustomWindows",
    "FixedWindows",
    "GlobalWindows",
    "MergedWindow",
    "OnTimeBehavior",
    "Sessions",
    "SlidingWindows",
    "TimestampCombiner",
    "Window",
    "WindowFn",
    "WindowingStrategy",
    "WindowsByValue",
]
