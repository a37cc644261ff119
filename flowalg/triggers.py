"""Triggers: when in processing time a window's contents come out (SEMANTICS section 6; Dataflow Model, 2.3).

Two levels, which are types. A once-trigger is a monotone predicate of what its window has seen and of the
clocks: it fires when ready, and then is finished. A trigger may fire many times.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from flowalg.errors import ArgumentError


@frozen
class AtWatermark:
    """Ready when the watermark has passed the end of the window: ``W >= end``.

    Every element of the window is then believed to have been observed (Dataflow Model, section 2.3).
    """

    def __str__(self) -> str:
        return "when the watermark passes the end of the window"


OnceTrigger: TypeAlias = AtWatermark
"""Triggers that fire once and are then finished."""


@frozen
class Repeat:
    """Fires whenever ``trigger`` does, and resets it when it finishes. Never finishes itself."""

    trigger: Trigger

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.trigger, AtWatermark | Repeat):
            raise ArgumentError("Repeat.trigger", self.trigger, "a trigger, such as AtWatermark()")

    def __str__(self) -> str:
        return f"repeatedly, {self.trigger}"


Trigger: TypeAlias = OnceTrigger | Repeat
"""Every trigger."""

DEFAULT_TRIGGER: Trigger = Repeat(AtWatermark())
"""A pane when the watermark passes the end of the window, and one for whatever comes later."""


__all__ = ["DEFAULT_TRIGGER", "AtWatermark", "OnceTrigger", "Repeat", "Trigger"]
