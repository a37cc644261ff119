"""An environment for each peer, in ``build/peers``, with the newest Python of this machine that it supports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.components import java
from tests.components.jars import BUILD
from tests.peers.claims.cells import Peer

ROOT: Final = BUILD.parent
FOLDER: Final = BUILD / "peers"
OLDEST: Final = (3, 11)
CHECKER: Final = "mypy>=2.4,<2.5"
"""The type checker of every environment."""
QUIETLY: Final = ("-q", "--disable-pip-version-check")


class MissingPeer(Exception):
    """A peer cannot be installed here; the message says how to install it."""


def python_of(peer: Peer) -> Path:
    """Returns the Python of a peer's environment, which it makes once; raises ``MissingPeer`` if it cannot."""
    if not peer.requirements:
        return Path(sys.executable)
    if peer.java and java.find(ROOT / ".java", Path("/usr/lib/jvm")) is None:
        raise MissingPeer(f"it needs Java {java.NEEDED} or newer (apt-get install {java.APT_PACKAGES[0]})")
    folder = FOLDER / peer.name
    python, stamp = folder / "bin" / "python", folder / "ready"
    wanted = "\n".join((*peer.requirements, CHECKER))
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    newest = _newest(peer.python)
    if newest is None:
        raise MissingPeer(f"it needs Python {_text(OLDEST)} to {_text(peer.python)}")
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [str(newest), "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", *QUIETLY, *peer.requirements, CHECKER],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            how = f"pip install {' '.join(peer.requirements)}"
            raise MissingPeer(f"{how}: {_reason(result.stderr)}")
    stamp.write_text(wanted)
    return python


def _newest(most: tuple[int, int]) -> Path | None:
    """Returns the newest Python of this machine from ``OLDEST`` to ``most``, or ``None``."""
    for minor in range(most[1], OLDEST[1] - 1, -1):
        name = f"python3.{minor}"
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
        candidates = [shutil.which(name), *(str(path) for path in pyenv.glob(f"3.{minor}.*/bin/{name}"))]
        if sys.version_info[:2] == (3, minor):
            candidates.insert(0, sys.executable)
        for path in filter(None, candidates):
            # A shim of pyenv may be on the PATH without its version.
            if subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
                return Path(path)
    return None


def _reason(errors: str) -> str:
    """Returns the line of pip's errors that has the reason."""
    lines = errors.strip().splitlines() or ["no reason given"]
    return next((line for line in lines if line.startswith("ERROR")), lines[-1])


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
