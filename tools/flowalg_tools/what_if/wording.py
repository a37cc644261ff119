"""Durations, shares, policies and latenesses as a person reads them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from attrs import fields

from flowalg.watermarks import CustomPolicy, WatermarkPolicy
from flowalg.windows.strategy import AllowedLateness

_MILLISECOND: Final = 1000
_SECOND: Final = 1000 * _MILLISECOND
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def duration_told(duration: timedelta) -> str:
    """``1 d 2 h``, ``45 s``, ``-3 min``, ``250 ms``, ``0 s``: exactly, and so in as many units as it takes."""
    micros = duration // timedelta(microseconds=1)
    if micros < 0:
        return f"-{duration_told(-duration)}"
    if 0 < micros < _SECOND:
        return f"{micros / _MILLISECOND:g} ms"
    parts = []
    for unit, size in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE)):
        whole, micros = divmod(micros, size)
        parts += [f"{whole} {unit}"] if whole else []
    if micros or not parts:
        whole, micros = divmod(micros, _SECOND)
        parts.append(f"{whole}.{micros:06}".rstrip("0").rstrip(".") + " s")
    return " ".join(parts)


def about(duration: timedelta) -> str:
    """A duration rounded to what matters at its size: a long one to hours or minutes, a short one to seconds."""
    micros = abs(duration // timedelta(microseconds=1))
    steps = ((_DAY, _HOUR), (_HOUR, _MINUTE), (_MINUTE, _SECOND), (_SECOND, _SECOND // 100))
    step = next((step for size, step in steps if micros >= size), 1)
    return duration_told(timedelta(microseconds=round(duration / timedelta(microseconds=step)) * step))


def lateness_told(lateness: AllowedLateness) -> str:
    """An allowed lateness: its duration, or ``for ever``."""
    return duration_told(lateness) if isinstance(lateness, timedelta) else "for ever"


def share_told(share: float) -> str:
    """``4.2%``: with as many digits as small ones need, and 0% only for none at all."""
    percent = 100 * share
    if not percent:
        return "0%"
    if percent < 0.01:
        return "<0.01%"
    return f"{percent:.2f}%" if percent < 1 else f"{percent:.1f}%"


def policy_told(policy: WatermarkPolicy) -> str:
    """``BoundedOutOfOrderness(1 h)``: a policy by its name, with its arguments and the options that are not default."""
    arguments = []
    for one in sorted(fields(type(policy)), key=lambda field: bool(field.kw_only)):
        value: object = getattr(policy, one.name)
        if callable(value) or one.name == "name" or (one.kw_only and value == one.default):
            continue
        told = duration_told(value) if isinstance(value, timedelta) else str(value)
        arguments.append(f"{one.name}={told}" if one.kw_only else told)
    name = policy.name if isinstance(policy, CustomPolicy) else type(policy).__name__
    return f"{name}({', '.join(arguments)})" if arguments else name


__all__ = ["about", "duration_told", "lateness_told", "policy_told", "share_told"]
