"""What if the watermark waited longer, or late elements were welcome for longer? Counted on recorded records.

``what_if`` puts records that carry both their times through every watermark policy and allowed lateness of a grid, and
says of each choice what it would have come to: what is late and dropped, how long results take, how many panes a
window has, and how many windows are kept. It is what the reference interpreter would do with them, without running it.
"""

from flowalg_tools.what_if.advice import Recommendation
from flowalg_tools.what_if.choices import Choice, WhatIf, what_if
from flowalg_tools.what_if.counting import Kept, Latency
from flowalg_tools.what_if.records import Records

__all__ = ["Choice", "Kept", "Latency", "Recommendation", "Records", "WhatIf", "what_if"]
