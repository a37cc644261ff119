"""Records of each library: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from typing import assert_type

from flowalg import KV, PCollection, Source, Sum
from tests.support.record_kinds import (
    DataclassReading,
    Meter,
    PydanticReading,
    SlottedReading,
    StructReading,
    TupleReading,
)


def lambdas() -> None:
    """Lambdas need no annotations over records of any library."""
    dataclasses = Source("readings", DataclassReading, event_time=lambda reading: reading.at)
    assert_type(dataclasses, Source[DataclassReading])
    assert_type(dataclasses.map(lambda reading: reading.value), PCollection[int])
    slotted = Source("readings", SlottedReading, event_time=lambda reading: reading.at)
    assert_type(slotted.map(lambda reading: reading.meter), PCollection[Meter])
    tuples = Source("readings", TupleReading, event_time=lambda reading: reading.at)
    totals = tuples.key_by(lambda reading: reading.meter).map_values(lambda reading: reading.value)
    assert_type(totals.combine_per_key(Sum()), PCollection[KV[Meter, int]])
    models = Source("readings", PydanticReading, event_time=lambda reading: reading.at)
    assert_type(models.filter(lambda reading: reading.value > 3), PCollection[PydanticReading])
    structs = Source("readings", StructReading, event_time=lambda reading: reading.at)
    assert_type(structs.flat_map(lambda reading: reading.tags), PCollection[str])
