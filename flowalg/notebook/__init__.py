"""HTML views of pipelines, timelines and runs for notebooks. No other package of the core imports it."""

from flowalg.notebook.html import PaneTable

__all__ = ["PaneTable"]
