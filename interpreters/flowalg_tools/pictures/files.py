"""Writes pictures as SVG or PNG, by suffix; equal pictures are equal files."""

from __future__ import annotations

import warnings
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from flowalg.data.errors import ArgumentError

SUFFIXES: Final = (".png", ".svg")
_DPI: Final = 144


def check_path(path: str | PathLike[str]) -> Path:
    """Returns the path of a picture; raises ``ArgumentError`` for another suffix than ``.svg`` and ``.png``."""
    if not isinstance(path, str | PathLike) or Path(path).suffix.lower() not in SUFFIXES:
        raise ArgumentError("path", path, "a path that ends in .svg or .png")
    return Path(path)


def save(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of the suffix."""
    path.write_bytes(render(figure, path.suffix.lower()))


def render(figure: Figure, suffix: str) -> bytes:
    """Returns a figure as ``.svg`` or ``.png``: equal bytes for equal figures; text in an SVG remains text."""
    into = BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "flowalg", "hatch.linewidth": 0.7})
        # A value may have characters that the font lacks; they are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        if suffix == ".svg":
            figure.savefig(into, format="svg", metadata={"Date": None, "Creator": None})
        else:
            figure.savefig(into, format="png", dpi=_DPI)
    return into.getvalue()
