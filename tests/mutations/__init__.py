"""Deliberate faults, by area. ``python -m tests.mutations`` runs the tests on each."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from tests.mutations.clocks import EXCHANGE_MUTANTS, HOLD_MUTANTS, WATERMARK_MUTANTS
from tests.mutations.computations import COMPUTATION_MUTANTS
from tests.mutations.dead_letters import DEAD_LETTER_MUTANTS, MESSAGE_MUTANTS
from tests.mutations.local import LOCAL_MUTANTS, MONITORING_MUTANTS
from tests.mutations.memory import MEMORY_MUTANTS
from tests.mutations.mutant import Mutant, Sources
from tests.mutations.operators import sample
from tests.mutations.outputs import OUTPUT_MUTANTS
from tests.mutations.panes import ACCUMULATION_MUTANTS, EXPIRY_MUTANTS
from tests.mutations.replays import REPLAY_MUTANTS
from tests.mutations.step import STEP_MUTANTS
from tests.mutations.triggers import TRIGGER_MUTANTS
from tests.mutations.unmerging import UNMERGING_MUTANTS
from tests.mutations.values import (
    COMBINER_MUTANTS,
    FORM_MUTANTS,
    JOIN_MUTANTS,
    METADATA_MUTANTS,
    SIDE_MUTANTS,
)
from tests.mutations.windows import MERGE_MUTANTS

_SEMANTICS: Final = (
    "laws",
    "windows",
    "reference",
    "contents",
    "sides",
    "transforms",
    "corrections",
    "watermark_examples",
    "step",
    "figures",
    "step_pipelines",
)


@frozen
class Area:
    """A part of the code: its mutants, and the tests that should detect them; ``laws`` is ``test_laws.py``."""

    name: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]


def areas(sources: Sources, sampled: int) -> tuple[Area, ...]:
    """Returns all mutants: the hand-written ones, and a sample of changed operators in some modules."""
    return (
        Area("triggers", _SEMANTICS, TRIGGER_MUTANTS),
        Area("windows", _SEMANTICS, MERGE_MUTANTS),
        Area("unmerging", ("corrections",), UNMERGING_MUTANTS),
        Area("accumulation", _SEMANTICS, ACCUMULATION_MUTANTS),
        Area("expiry", _SEMANTICS, EXPIRY_MUTANTS),
        Area(
            "watermarks",
            ("watermarks", "watermark_examples", "ingress_times", "reference"),
            WATERMARK_MUTANTS,
        ),
        Area("holds", _SEMANTICS, HOLD_MUTANTS),
        Area("exchange", ("clock_exchange", "emitted_rows"), EXCHANGE_MUTANTS),
        Area("combiners", ("combiners", "functional_combiners", "transforms", "sketches"), COMBINER_MUTANTS),
        Area("joins", ("joins", "transforms"), JOIN_MUTANTS),
        Area("metadata", ("metadata",), METADATA_MUTANTS),
        Area("side inputs", ("sides",), SIDE_MUTANTS),
        Area(
            "computations",
            (
                "computations",
                "computation_values",
                "local_computations",
                "conformance",
                "laws",
            ),
            COMPUTATION_MUTANTS,
        ),
        Area("normal forms", ("normal_forms",), FORM_MUTANTS),
        Area("step", ("corrections", "automaton", "step", "step_pipelines", "grouping_errors"), STEP_MUTANTS),
        Area("memory", ("window_store", "state_cache"), MEMORY_MUTANTS),
        Area("outputs", ("outputs", "reference", "conformance"), OUTPUT_MUTANTS),
        Area(
            "dead letters",
            ("bad_records", "conformance", "local_conformance", "streams"),
            DEAD_LETTER_MUTANTS,
        ),
        Area("messages", ("decoding", "avro"), MESSAGE_MUTANTS),
        Area("local", ("streams", "local_conformance", "watermarks"), LOCAL_MUTANTS),
        Area("monitoring", ("query_progress", "observers"), MONITORING_MUTANTS),
        Area("replays", ("replay",), REPLAY_MUTANTS),
        Area("operators", _SEMANTICS, tuple(sample(sources, sampled))),
    )


__all__ = ["Area", "Mutant", "areas"]
