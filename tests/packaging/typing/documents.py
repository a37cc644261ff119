"""Documents: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from typing import assert_type

from flowalg import (
    KV,
    Aggregate,
    AtPeriod,
    Count,
    OnceTrigger,
    PCollection,
    Perfect,
    Sessions,
    Source,
    Timeline,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    from_json,
    to_json,
)
from flowalg.serialization import COMBINER, ONCE_TRIGGER, TRIGGER, WATERMARK_POLICY, WINDOWS
from tests.packaging.typing.records import Flight


def write(
    totals: PCollection[KV[str, int]], flights: Source[Flight], trigger: Trigger, timeline: Timeline[Flight]
) -> None:
    """Values are written as JSON."""
    assert_type(to_json(totals), str)
    assert_type(to_json(flights, indent=2), str)
    assert_type(to_json(trigger), str)
    assert_type(to_json(Count()), str)
    assert_type(to_json(Perfect()), str)


def read_back(text: str) -> None:
    """Values are read back as a class, or as a kind that has several classes."""
    assert_type(from_json(text, PCollection[KV[str, int]]), PCollection[KV[str, int]])
    assert_type(from_json(text, Source[Flight]), Source[Flight])
    assert_type(from_json(text, AtPeriod), AtPeriod)
    assert_type(from_json(text, Sessions), Sessions)
    assert_type(from_json(text, TRIGGER), Trigger)
    assert_type(from_json(text, ONCE_TRIGGER), OnceTrigger)
    assert_type(from_json(text, WINDOWS), WindowFn)
    assert_type(from_json(text, WATERMARK_POLICY), WatermarkPolicy)
    assert_type(from_json(text, COMBINER), Aggregate[object, object])
