"""What-if analysis: the effect of a watermark policy and an allowed lateness, computed from recorded records.

``what_if`` evaluates every watermark policy and allowed lateness of a grid on records that carry both times. For each
choice it computes the shares of late and dropped elements, the latency of results, the number of panes per window, and
the number of live windows. These are the results of the reference interpreter, computed without running it.
"""

from flowalg_tools.what_if.choice import Choice
from flowalg_tools.what_if.choices import WhatIf, what_if
from flowalg_tools.what_if.counting import Latency, StateSize
from flowalg_tools.what_if.recommendation import Recommendation
from flowalg_tools.what_if.recorded_delays import RecordedDelays

__all__ = ["Choice", "Latency", "Recommendation", "RecordedDelays", "StateSize", "WhatIf", "what_if"]
