"""Pictures as files: the suffix says the format, and the same picture is the same file."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from flowalg.data.errors import ArgumentError

SUFFIXES: Final = (".png", ".svg")
_DPI: Final = 144


def target_of(path: Path | str) -> Path:
    """Where a picture is to go; raises ``ArgumentError`` unless the suffix says a format that there is."""
    if not isinstance(path, Path | str) or Path(path).suffix.lower() not in SUFFIXES:
        raise ArgumentError("path", path, "a path that ends in .svg or .png")
    return Path(path)


def save(figure: Figure, path: Path) -> None:
    """Writes a figure as its suffix says."""
    path.write_bytes(rendered(figure, path.suffix.lower()))


def rendered(figure: Figure, suffix: str) -> bytes:
    """A figure as ``.svg`` or ``.png``: the same bytes for the same figure; text in an SVG stays text."""
    into = BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "flowalg", "hatch.linewidth": 0.7})
        # A value may have characters that the font has not; they come out as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        if suffix == ".svg":
            figure.savefig(into, format="svg", metadata={"Date": None, "Creator": None})
        else:
            figure.savefig(into, format="png", dpi=_DPI)
    return into.getvalue()


__all__ = ["SUFFIXES", "rendered", "save", "target_of"]
