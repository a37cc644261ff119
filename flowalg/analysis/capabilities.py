"""What an interpreter can run, as data: the features that it lacks, with reasons, and when it evaluates triggers.

Every interpreter has one. ``flowalg_laws.check_interpreter`` checks it both ways: a pipeline that uses a missing
feature must be rejected, and any other pipeline must run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from attrs import field, frozen

from flowalg.analysis.features import AREA_OF, AnyFeature, Feature, describe_feature
from flowalg.data.errors import ArgumentError, UnsupportedError, require_name


class Mode(Enum):
    """When an interpreter evaluates triggers of processing time (SEMANTICS section 4)."""

    CONTINUOUS = "continuous"
    """At each deadline: an empty instant is inserted at each processing time that a trigger waits for."""

    MICRO_BATCH = "micro-batch"
    """At instants only: a deadline is noticed at the first instant at or after it."""


@frozen
class Capabilities:
    """The name of an interpreter, the features that it lacks with the reason for each, and its mode.

    An interpreter that lacks ``Feature.STREAMING`` runs batches only; features and modes that do not matter to a batch
    do not apply to it.
    """

    interpreter: str = field()
    missing: Mapping[AnyFeature, str] = field(factory=dict)
    mode: Mode = Mode.MICRO_BATCH

    def __attrs_post_init__(self) -> None:
        require_name("Capabilities.interpreter", self.interpreter)
        if not isinstance(self.missing, Mapping):
            raise ArgumentError("Capabilities.missing", self.missing, "a mapping from features to reasons")
        require_mode("Capabilities.mode", self.mode)
        for feature, reason in self.missing.items():
            if feature not in AREA_OF:
                valid = "a feature, such as Sessions, Accumulation.RETRACTING or Feature.STREAMING"
                raise ArgumentError("a key of Capabilities.missing", feature, valid)
            require_name(
                f"Capabilities.missing[{describe_feature(feature)}]", reason, "the reason, a non-empty str"
            )
            if not self.applies(feature) and feature is not Feature.STREAMING:
                raise ArgumentError(
                    "a key of Capabilities.missing",
                    feature,
                    "a feature that matters to a batch, because STREAMING is missing too",
                )

    @property
    def streams(self) -> bool:
        """Whether the interpreter runs streams; otherwise it runs batches only."""
        return Feature.STREAMING not in self.missing

    def applies(self, feature: AnyFeature) -> bool:
        """Returns whether a feature matters to the interpreter: any does, or those of a batch."""
        return self.streams or AREA_OF[feature].in_batch

    def relevant(self, features: Iterable[AnyFeature]) -> frozenset[AnyFeature]:
        """Returns the features that matter to the interpreter."""
        return frozenset(filter(self.applies, features))

    def lacking(self, features: Iterable[AnyFeature]) -> Mapping[AnyFeature, str]:
        """Returns the features that the interpreter lacks with the reasons, in the order of the tables."""
        relevant = self.relevant(features)
        return {
            feature: self.missing[feature]
            for feature in AREA_OF
            if feature in relevant and feature in self.missing
        }

    def refused(self, feature: AnyFeature, part: str) -> UnsupportedError:
        """Returns the error for a part of a pipeline that uses a missing feature."""
        reason = self.missing[feature]
        return UnsupportedError(f"{self.interpreter} does not run {part}: {reason}")


def require_mode(argument: str, mode: object) -> None:
    """Raises ``ArgumentError`` unless the value is a ``Mode``."""
    if not isinstance(mode, Mode):
        raise ArgumentError(argument, mode, "Mode.CONTINUOUS or Mode.MICRO_BATCH")
