"""Values that cannot be stored: the local engine's error names the stage and the class.

The tests catch a raw error for a record class that is defined in a function, as in tests and notebooks.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from threading import Lock

import polars as pl
import pytest
from attrs import asdict, frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput

from flowalg import (
    KV,
    Aggregate,
    BoundedOutOfOrderness,
    Computation,
    FixedWindows,
    PCollection,
    ToList,
    combiner,
)
from flowalg.computations import Clocks, Observed, Transition
from flowalg.errors import ElementError, UnsupportedError
from tests.support.scores import NOON, SCORES, Score

MINUTE = timedelta(minutes=1)
WINDOWED = SCORES.key_by(lambda score: score.team).map_values(lambda score: score.points)
STREAM = {
    SCORES: StreamInput(
        Frames([pl.DataFrame([asdict(Score("red", 1, NOON))])]), BoundedOutOfOrderness(MINUTE)
    )
}


def test_a_value_of_a_local_class_names_the_stage() -> None:
    """A combiner of functions receives its values one by one; the error says which class must be defined elsewhere."""

    @frozen
    class Local:
        points: int

    values = WINDOWED.map_values(Local, result=Local).window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
    totals = values.combine_per_key(
        combiner(
            zero=0,
            add=lambda total, value: total + value.points,
            merge=lambda one, other: one + other,
            name="total",
            result=int,
        )
    )
    with pytest.raises(
        ElementError,
        match=r"combine_per_key\(total\): a value cannot be stored: .*Local, cannot be found again",
    ):
        list(streaming.batches(totals, STREAM))
    assert list(streaming.batches(values.combine_per_key(ToList()), STREAM)), "a list keeps them in columns"


class Guarded:
    """An object that is not data."""

    def __init__(self) -> None:
        self.lock = Lock()


def totals_from(zero: Guarded | None) -> PCollection[KV[str, int]]:
    """Returns sums whose accumulators are objects, after a first one."""
    guarded: Aggregate[int, int] = combiner(
        zero=zero,
        add=lambda held, _: Guarded(),
        merge=lambda one, _: one,
        extract=lambda _: 1,
        name="guarded",
        result=int,
    )
    return WINDOWED.window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(guarded)


def test_an_accumulator_with_a_lock_names_the_stage() -> None:
    """An accumulator of a combiner is stored too."""
    message = (
        r"combine_per_key\(.*guarded.*cannot be stored: TypeError: an object of the class Guarded is not data"
    )
    with pytest.raises(ElementError, match=message):
        list(streaming.batches(totals_from(None), STREAM))


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            totals_from(Guarded()),
            r"the accumulator of guarded for no values cannot be stored: .*class Guarded",
        ),
        (
            WINDOWED.process(
                Computation(
                    initial=Guarded(), on_element=lambda held, seen, clocks: Transition(held), result=int
                )
            ),
            "the initial state cannot be stored: .* an object of the class Guarded is not data: use a record class",
        ),
    ],
    ids=["zero", "initial state"],
)
def test_a_state_that_is_not_data_is_rejected_before_the_start(
    pipeline: PCollection[object], message: str
) -> None:
    """The first accumulator and the first state are known when a pipeline is compiled, and so is a plan of a change."""
    with pytest.raises(UnsupportedError, match=message):
        next(streaming.batches(pipeline, STREAM))
    with pytest.raises(UnsupportedError, match=message):
        raise streaming.check(pipeline).failure()


class _Opaque:
    """An object that is not data, and can be pickled."""

    def __init__(self, points: int) -> None:
        self.points = points


def test_a_state_is_pickled_if_the_computation_asks_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is restored after a restart, a warning names the stage, and what shows the state does not unpickle it."""

    def add(state: _Opaque, observed: Observed[str, int], clocks: Clocks) -> Transition[_Opaque, int]:
        total = _Opaque(state.points + observed.value)
        return Transition(total, emit=[total.points])

    def totals(*, pickled: bool) -> PCollection[KV[str, int]]:
        return WINDOWED.process(
            Computation(initial=_Opaque(0), on_element=add, pickled_state=pickled, result=int, name="totals")
        )

    frame = pl.DataFrame([asdict(Score("red", 1, NOON))])
    stream = {SCORES: StreamInput(Frames([frame, frame, frame]), BoundedOutOfOrderness(MINUTE))}
    begun = streaming.batches(totals(pickled=True), stream, checkpoint=tmp_path)
    assert [next(begun).elements[0].element.value for _ in range(2)] == [1, 2]
    begun.close()
    assert "process(totals): its states are pickled" in caplog.text
    assert streaming.open_state(tmp_path)["state_text"].to_list() == ["a pickled state"]
    with pytest.raises(UnsupportedError, match="the initial state cannot be stored"):
        streaming.plan(totals(pickled=False), tmp_path)
    continued = streaming.batches(totals(pickled=True), stream, checkpoint=tmp_path)
    assert [row.element.value for batch in continued for row in batch.elements] == [2, 3]
