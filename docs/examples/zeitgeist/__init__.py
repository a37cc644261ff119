"""Zeitgeist, the example of the MillWheel paper: spikes and dips in the number of searches for each query.

``alerts`` is the pipeline, ``Generator`` makes searches with known anomalies, and ``score`` compares alerts with them.
"""

from zeitgeist.detection import (
    Alert,
    Bucket,
    Model,
    alerts,
    detector,
    model_calculator,
    model_updates,
    window_counter,
    window_counts,
)
from zeitgeist.scores import Detection, Scores, score
from zeitgeist.searches import Generator, Injected, Kind, Search, Traffic, searches

__all__ = [
    "Alert",
    "Bucket",
    "Detection",
    "Generator",
    "Injected",
    "Kind",
    "Model",
    "Scores",
    "Search",
    "Traffic",
    "alerts",
    "detector",
    "model_calculator",
    "model_updates",
    "score",
    "searches",
    "window_counter",
    "window_counts",
]
