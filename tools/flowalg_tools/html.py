"""HTML views of pipelines, timelines, panes, and runs with their pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from flowalg.data.errors import ArgumentError, MissingExtraError
from flowalg.notebook.html import PaneTable, panes_html, pipeline_html, run_html, timeline_html
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg.runs.run import Run
from flowalg.runs.timeline import Timeline


def to_html(value: object) -> str:
    """Returns a value as well-formed HTML, with user data escaped, inline styles, and no scripts.

    A ``PCollection`` becomes the tree of ``flowalg.explain``. A ``Timeline`` and a sequence of panes become tables. A
    ``Run`` becomes its counts, its diagram (if ``flowalg[plot]`` is installed) and its panes. Raises ``ArgumentError``
    for any other value.
    """
    match value:
        case PCollection():
            return pipeline_html(value)
        case Timeline():
            return timeline_html(value)
        case PaneTable(panes=panes):
            return panes_html(panes)
        case Run():
            return run_html(value, _picture(value))
        case Sequence() if not isinstance(value, str) and all(isinstance(pane, Pane) for pane in value):
            return panes_html(value)
        case _:
            raise ArgumentError("value", value, "a PCollection, a Timeline, a Run, or a sequence of panes")


def _picture(run: Run[object]) -> str:
    """The diagram as an image: the styles of an inline SVG would apply to the whole notebook."""
    try:
        from flowalg_tools.pictures import run_svg
    except MissingExtraError:
        return ""
    data = b64encode(run_svg(run).encode()).decode()
    style = "max-width: 100%; background: white;"
    alt = "The run in event time, across, and processing time, up"
    return f'<div><img alt="{alt}" style="{style}" src="data:image/svg+xml;base64,{data}"/></div>'


__all__ = ["to_html"]
