"""Pictures of any run: where its elements and panes lie in both times, and how it went on. Needs ``flowalg[plot]``.

``draw_run`` is the papers' diagram of event time and processing time; ``draw_progress`` follows the watermark's lag,
the windows that are kept, and the panes. Both write SVG or PNG, as the suffix of the path says.
"""

from importlib.util import find_spec

from flowalg.data.errors import MissingExtraError

if find_spec("matplotlib") is None:
    raise MissingExtraError("pictures need matplotlib, which is not installed: install flowalg[plot]")

from flowalg_tools.pictures.progress import draw_progress
from flowalg_tools.pictures.runs import draw_run, run_svg

__all__ = ["draw_progress", "draw_run", "run_svg"]
