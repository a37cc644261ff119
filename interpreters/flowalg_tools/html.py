"""The notebook views as HTML, and those of runs with their pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from flowalg.data.errors import ArgumentError, MissingExtraError
from flowalg.data.views import HasView, html_view
from flowalg.notebook.html import panes_html, run_html
from flowalg.runs.panes import Pane
from flowalg.runs.run import Run


def to_html(value: object) -> str:
    """Returns a value as well-formed HTML, with user data escaped, inline styles, and no scripts.

    A value that a notebook displays has the same view here: a pipeline, a trigger and an explanation become trees or
    text, and a timeline, a window, a pane and a sequence of panes become tables. A ``Run`` becomes its counts, its
    diagram (if ``flowalg[plot]`` is installed) and its panes. Raises ``ArgumentError`` for any other value.
    """
    match value:
        case Run():
            return run_html(value, _picture(value))
        case HasView():
            return html_view(value)
        case Sequence() if not isinstance(value, str) and all(isinstance(pane, Pane) for pane in value):
            return panes_html(value)
        case _:
            raise ArgumentError(
                "value",
                value,
                "an object with a notebook view, such as a Run, or a sequence of panes",
            )


def _picture(run: Run[object]) -> str:
    """Returns the diagram as an image: the styles of an inline SVG would apply to the whole notebook."""
    try:
        from flowalg_tools.pictures import run_svg
    except MissingExtraError:
        return ""
    data = b64encode(run_svg(run).encode()).decode()
    style = "max-width: 100%; background: white;"
    alt = "The run in event time, across, and processing time, up"
    return f'<div><img alt="{alt}" style="{style}" src="data:image/svg+xml;base64,{data}"/></div>'
