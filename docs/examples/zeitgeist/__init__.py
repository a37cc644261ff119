"""Zeitgeist, the example of the MillWheel paper: spikes and dips in the number of searches for each query.

``alerts`` is the pipeline, ``Generator`` makes searches with known anomalies, and ``score`` compares alerts with them.
"""

from zeitgeist.detection import Alert, Model, alerts, counts, detector
from zeitgeist.scores import Detection, Scores, score
from zeitgeist.searches import Generator, Injected, Kind, Search, Traffic, searches

__all__ = [
    "Alert",
    "Detection",
    "Generator",
    "Injected",
    "Kind",
    "Model",
    "Scores",
    "Search",
    "Traffic",
    "alerts",
    "counts",
    "detector",
    "score",
    "searches",
]
