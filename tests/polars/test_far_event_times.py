"""Event times out of range that lifted functions give: an error that names the step, or bad records.

The tests catch an element that no window can contain, and an error of a window or of Polars in place of the step's.
"""

from __future__ import annotations

import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import ReferenceBatch

from flowalg import Interpreter
from tests.support.far_steps import STEPS, require_bad, require_named


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("engine", [ReferenceBatch(), PolarsBatch(), PolarsStreaming()])
def test_an_event_time_out_of_range_is_an_error_of_its_step(engine: Interpreter, steps: str) -> None:
    """A lifted ``with_timestamps`` is checked as one in Python is."""
    require_named(engine, STEPS[steps])


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("engine", [PolarsBatch(dead_letters=True), PolarsStreaming(dead_letters=True)])
def test_an_event_time_out_of_range_is_a_bad_record(engine: Interpreter, steps: str) -> None:
    """With dead letters its element is a bad record of the step, on every engine."""
    require_bad(engine, STEPS[steps])
