"""Pictures of runs. Needs ``flowalg[plot]``.

``draw_run`` draws the papers' diagram of event time and processing time. ``draw_progress`` draws the watermark lag, the
live windows and the panes over processing time. Both write SVG or PNG, by the suffix of the path.
"""

from importlib.util import find_spec

from flowalg.data.errors import MissingExtraError

if find_spec("matplotlib") is None:
    raise MissingExtraError("pictures need matplotlib, which is not installed: pip install 'flowalg[plot]'")

from flowalg_tools.pictures.progress import draw_progress
from flowalg_tools.pictures.runs import draw_run, run_svg

__all__ = ["draw_progress", "draw_run", "run_svg"]
