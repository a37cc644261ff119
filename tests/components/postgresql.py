"""A private PostgreSQL server for tests: Debian's programs, with a new cluster and a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

BINARIES: Final = Path("/usr/lib/postgresql")
_MISSING: Final = (
    f"PostgreSQL is not installed: there is no {BINARIES}/*/bin/postgres (apt-get install postgresql)"
)
SECONDS: Final = 60


def _binaries() -> Path | None:
    """Returns the folder of the newest server's programs; ``None`` if there is none."""
    folders = [program.parent for program in BINARIES.glob("*/bin/postgres")]
    return max(folders, key=lambda folder: float(folder.parent.name), default=None)


def missing() -> str | None:
    """Returns what a server needs and this machine lacks; ``None`` if nothing."""
    return _MISSING if _binaries() is None else None


def server_user() -> str | None:
    """Returns the user that runs the server, which must not be root; ``None`` for the current user."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in users else "nobody"


@contextmanager
def cluster() -> Iterator[str]:
    """Yields the connection string of a running server; stops the server and removes its folder afterwards."""
    programs = _binaries()
    if programs is None:
        raise RuntimeError(_MISSING)
    # The path of a socket must be short; the folders of tests are too long.
    folder, user = Path(mkdtemp(prefix="flowalg-", dir="/tmp")), server_user()
    try:
        if user is not None:
            shutil.chown(folder, user)
        initdb: list[str | Path] = [
            programs / "initdb",
            "-D",
            folder / "data",
            "-U",
            "flowalg",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        result = subprocess.run(initdb, user=user, cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(result.stderr)
        with (folder / "log").open("wb") as log:
            options: list[str | Path] = ["-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
            # A separate session: an interrupt from the keyboard then stops the tests first.
            server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", *options],
                user=user,
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            _wait(programs, folder, server)
            yield f"host={folder} user=flowalg dbname=postgres"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(programs: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    for _ in range(SECONDS * 20):
        ready = subprocess.run([programs / "pg_isready", "-q", "-h", folder], check=False)
        if ready.returncode == 0:
            return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError((folder / "log").read_text())
