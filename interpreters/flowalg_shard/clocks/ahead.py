"""A warning at run time: the watermark of a source that an element from the future has moved ahead of the clock."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Final

from flowalg.data.time import MAX_TIME
from flowalg.watermarks import SourceClock, WatermarkPolicy

_LOG: Final = logging.getLogger("flowalg.watermarks")
_TOLERANCE: Final = 60_000_000
"""The microseconds by which the clocks of two machines may differ."""


def warn_if_ahead(source: str, policy: WatermarkPolicy, before: SourceClock, after: SourceClock) -> None:
    """Logs a warning when the watermark of a source gets more than a minute ahead of the processing time.

    Then all elements of the present are late. A policy with ``max_ahead`` has a bound of its own, and is not warned of.
    """
    if policy.max_ahead is None and _is_ahead(after) and not _is_ahead(before):
        watermark, now = after.watermark.datetime.isoformat(), after.processing_time.datetime.isoformat()
        _log_once(
            f"source {source!r}: the watermark {watermark} is ahead of the processing time {now}, because of an "
            "element or a published watermark from the future; until then all elements are late; set "
            "max_ahead=timedelta(...) of the policy, so that such an element does not advance the watermark"
        )


def _is_ahead(clock: SourceClock) -> bool:
    return clock.processing_time + _TOLERANCE < clock.watermark < MAX_TIME


@lru_cache(maxsize=1024)
def _log_once(message: str) -> None:
    """Logs a message that all shards and stages of a process have."""
    _LOG.warning(message)
