"""The papers' figures: what they show, as data; a pipeline for each; and what the reference interpreter makes of it.

``make_gallery`` compares every pane with the published drawing, draws the figure, and writes a page of all of them:
``flowalg figures``. Needs ``flowalg[plot]``.
"""

from flowalg_tools.figures.gallery import make_gallery

__all__ = ["make_gallery"]
