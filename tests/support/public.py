"""The public names of flowalg: what ``import flowalg`` shows, and the exports of its rooms."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import flowalg

FOR_ENGINES: Final = {"flowalg.interpreters", "flowalg.plan"}
"""The rooms whose names an engine uses, and a pipeline does not."""

ROOMS: Final = (
    "flowalg",
    *(
        room
        for room in (f"flowalg.{info.name}" for info in iter_modules(flowalg.__path__))
        if hasattr(import_module(room), "__all__") and room not in FOR_ENGINES
    ),
)
"""The package and its rooms, without those for engines."""

PUBLIC: Final[Mapping[str, object]] = {
    name: getattr(import_module(room), name) for room in ROOMS for name in import_module(room).__all__
}
"""Their public names, with their values."""
