"""One pipeline of each kind of step that compares keys, over scores whose keys are floats."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from flowalg import KV, FixedWindows, PCollection, Sessions, Sum
from tests.support.scores import SCORES

_MINUTE: Final = timedelta(minutes=1)
_HALVES: Final = SCORES.map(lambda s: KV(s.points / 2.0, s.points))


def _windowed(pairs: PCollection[KV[float, int]]) -> PCollection[KV[float, int]]:
    return pairs.window(FixedWindows(_MINUTE), allowed_lateness=_MINUTE)


_FIXED: Final = _windowed(_HALVES)
_SESSIONS: Final = _HALVES.window(Sessions(_MINUTE), allowed_lateness=_MINUTE)

FLOAT_KEYS: Final[dict[str, PCollection[object]]] = {
    "combine_per_key": _FIXED.combine_per_key(Sum()),
    "group_by_key": _FIXED.group_by_key(),
    "co_group_by_key": _FIXED.co_group_by_key(_FIXED),
    "inner_join": _FIXED.inner_join(_FIXED),
    "left_join": _FIXED.left_join(_FIXED),
    "full_join": _FIXED.full_join(_FIXED),
    "semi_join": _FIXED.semi_join(_FIXED),
    "anti_join": _FIXED.anti_join(_FIXED),
    "except_": _FIXED.except_(_FIXED),
    "inner_join of sessions": _SESSIONS.inner_join(_SESSIONS),
    "co_group_by_key of sessions": _SESSIONS.co_group_by_key(_SESSIONS),
    "distinct": _FIXED.distinct(),
    "process": _HALVES.every(2),
}
"""By the label of the step, which messages begin with."""
