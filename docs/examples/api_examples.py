"""The names that the examples of the API reference use."""

from datetime import UTC, datetime, timedelta

import flowalg_reference as reference
from attrs import frozen

from flowalg import PCollection, Source, Timeline
from flowalg.watermarks import WatermarkPolicy

MINUTE = timedelta(minutes=1)


@frozen
class Score:
    """A score of a team."""

    team: str
    points: int
    at: datetime


def noon(minute: float) -> datetime:
    """Returns a time after noon."""
    return datetime(2024, 1, 1, 12, tzinfo=UTC) + minute * MINUTE


scores = Source("scores", Score, event_time=lambda s: s.at)
points = scores.key_by(lambda s: s.team).map_values(lambda s: s.points)
RECORDS = (Score("red", 5, noon(0)), Score("blue", 7, noon(1)), Score("red", 3, noon(3)))


def results(pipeline: PCollection[object]) -> list[object]:
    """Returns the elements of a pipeline's output, in a batch of all records."""
    run = reference.run_batch(pipeline, {scores: RECORDS})
    return [*(pane.element for pane in run.panes), *(element.element for element in run.elements)]


def watermarks(policy: WatermarkPolicy) -> list[str]:
    """Returns the watermark after each record, which is observed two minutes after its event time."""
    timeline = Timeline.from_records(
        scores, RECORDS, processing_time=lambda s: s.at + 2 * MINUTE, watermark=policy, ends=False
    )
    return [str(instant.watermark) for instant in timeline]
