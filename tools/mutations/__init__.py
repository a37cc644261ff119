"""Deliberate faults, by what they are faults of. ``python -m tools.mutants`` tries them on the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.mutations.clocks import HOLD_MUTANTS, WATERMARK_MUTANTS
from tools.mutations.mutant import Mutant
from tools.mutations.panes import ACCUMULATION_MUTANTS, EXPIRY_MUTANTS
from tools.mutations.triggers import TRIGGER_MUTANTS
from tools.mutations.values import COMBINER_MUTANTS, FORM_MUTANTS, SIDE_MUTANTS
from tools.mutations.windows import MERGE_MUTANTS

MUTANTS: Final[Mapping[str, tuple[Mutant, ...]]] = {
    "triggers": TRIGGER_MUTANTS,
    "windows": MERGE_MUTANTS,
    "accumulation": ACCUMULATION_MUTANTS,
    "expiry": EXPIRY_MUTANTS,
    "watermarks": WATERMARK_MUTANTS,
    "holds": HOLD_MUTANTS,
    "combiners": COMBINER_MUTANTS,
    "side inputs": SIDE_MUTANTS,
    "normal forms": FORM_MUTANTS,
}

__all__ = ["MUTANTS", "Mutant"]
