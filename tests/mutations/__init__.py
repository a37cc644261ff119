"""Deliberate faults, by area. ``python -m tests.mutations`` runs the tests on each."""

from __future__ import annotations

from typing import Final

from tests.mutations.engines import ENGINES
from tests.mutations.model import MODEL
from tests.mutations.mutant import Area
from tests.mutations.reference import REFERENCE
from tests.mutations.step import STEP

AREAS: Final[tuple[Area, ...]] = (*MODEL, *REFERENCE, *STEP, *ENGINES)
