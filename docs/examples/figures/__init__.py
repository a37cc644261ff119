"""The papers' figures: their content as data, a pipeline for each, and its run in the reference interpreter.

``make_gallery`` compares every pane with the published figure, draws the figure, and writes a page of all figures:
``make figures``.
"""

from figures.gallery import make_gallery

__all__ = ["make_gallery"]
