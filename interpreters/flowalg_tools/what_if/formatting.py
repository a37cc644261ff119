"""Formats durations, shares, policies and allowed lateness for people."""

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


def format_duration(duration: timedelta) -> str:
    """Returns the exact duration, in as many units as it needs: ``1 d 2 h``, ``45 s``, ``-3 min``, ``250 ms``,
    ``0 s``.
    """
    micros = duration // timedelta(microseconds=1)
    if micros < 0:
        return f"-{format_duration(-duration)}"
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


def format_rounded(duration: timedelta) -> str:
    """Returns a duration rounded according to its size: a long one to hours or minutes, a short one to seconds."""
    micros = abs(duration // timedelta(microseconds=1))
    steps = ((_DAY, _HOUR), (_HOUR, _MINUTE), (_MINUTE, _SECOND), (_SECOND, _SECOND // 100))
    step = next((step for size, step in steps if micros >= size), 1)
    return format_duration(timedelta(microseconds=round(duration / timedelta(microseconds=step)) * step))


def format_lateness(lateness: AllowedLateness) -> str:
    """Returns an allowed lateness: its duration, or ``FOREVER``."""
    return format_duration(lateness) if isinstance(lateness, timedelta) else "FOREVER"


def format_share(share: float) -> str:
    """Returns a percentage such as ``4.2%``; small shares have more digits, and only zero is ``0%``."""
    percent = 100 * share
    if not percent:
        return "0%"
    if percent < 0.01:
        return "<0.01%"
    return f"{percent:.2f}%" if percent < 1 else f"{percent:.1f}%"


def format_policy(policy: WatermarkPolicy) -> str:
    """Returns a policy with its arguments and the options that are not default: ``BoundedOutOfOrderness(1 h)``."""
    arguments = []
    for field in sorted(fields(type(policy)), key=lambda field: bool(field.kw_only)):
        value: object = getattr(policy, field.name)
        if callable(value) or field.name == "name" or (field.kw_only and value == field.default):
            continue
        text = format_duration(value) if isinstance(value, timedelta) else str(value)
        arguments.append(f"{field.name}={text}" if field.kw_only else text)
    name = policy.name if isinstance(policy, CustomPolicy) else type(policy).__name__
    return f"{name}({', '.join(arguments)})" if arguments else name
