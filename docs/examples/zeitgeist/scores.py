"""How well alerts find the anomalies that were injected: precision, recall, and the delay of detection."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

from attrs import frozen

from flowalg import KV
from flowalg.runs import OutputElement
from zeitgeist.detection import Alert
from zeitgeist.searches import SECOND, Injected

AlertElement = OutputElement[KV[str, Alert]]


@frozen
class Detection:
    """An injected anomaly, and the first alert that found it, if any did."""

    injected: Injected
    alert: AlertElement | None

    @property
    def delay(self) -> timedelta | None:
        """The processing time from the start of the anomaly to its alert."""
        return None if self.alert is None else self.alert.processing_time.datetime - self.injected.start


@frozen
class Scores:
    """The anomalies with their alerts, and the alerts without an anomaly."""

    detections: tuple[Detection, ...]
    false_alerts: tuple[AlertElement, ...]

    @property
    def found(self) -> tuple[Detection, ...]:
        """The anomalies that were found."""
        return tuple(detection for detection in self.detections if detection.alert is not None)

    @property
    def precision(self) -> float:
        """The share of alerts that have found an anomaly; an anomaly counts once."""
        alerts = len(self.found) + len(self.false_alerts)
        return len(self.found) / alerts if alerts else 1.0

    @property
    def recall(self) -> float:
        """The share of anomalies that were found."""
        return len(self.found) / len(self.detections) if self.detections else 1.0

    @property
    def median_delay(self) -> timedelta:
        """The median of the delays of the anomalies that were found; zero if there are none."""
        delays = [detection.delay / SECOND for detection in self.found if detection.delay is not None]
        return median(delays) * SECOND if delays else timedelta(0)


def score(alerts: Sequence[AlertElement], injected: Sequence[Injected], end: datetime) -> Scores:
    """Compares alerts with what was injected.

    An alert finds an anomaly of the same query and kind if its start is in it, or at most a second before: the last
    search before a dip can be earlier than the dip. Alerts after the ``end`` of the traffic are ignored: when the input
    ends, all queries fall silent.
    """

    def finds(alert: AlertElement, anomaly: Injected) -> bool:
        same = (alert.key, alert.value.kind) == (anomaly.query, anomaly.kind)
        return same and anomaly.start - SECOND <= alert.value.start < anomaly.end

    before_end = (alert for alert in alerts if alert.event_time.datetime < end)
    in_order = sorted(before_end, key=lambda alert: alert.processing_time)
    return Scores(
        tuple(
            Detection(anomaly, next((alert for alert in in_order if finds(alert, anomaly)), None))
            for anomaly in injected
        ),
        tuple(alert for alert in in_order if not any(finds(alert, anomaly) for anomaly in injected)),
    )
