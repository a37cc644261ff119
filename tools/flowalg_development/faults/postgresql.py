"""A PostgreSQL of one's own, for tests: Debian's programs, a new cluster in a temporary folder, a socket there."""

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
MISSING: Final = (
    f"PostgreSQL is not installed: there is no {BINARIES}/*/bin/postgres (apt-get install postgresql)"
)
SECONDS: Final = 60


def binaries() -> Path | None:
    """Where the newest server's programs are; ``None`` where there is none."""
    found = [one.parent for one in BINARIES.glob("*/bin/postgres")]
    return max(found, key=lambda one: float(one.parent.name), default=None)


def server_user() -> str | None:
    """The user that the server runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return None
    known = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def cluster() -> Iterator[str]:
    """A running server, as a connection string; it is stopped, and its folder removed, when the context ends."""
    programs = binaries()
    if programs is None:
        raise RuntimeError(MISSING)
    # The path of a socket must be short, which those of tests are not.
    folder, user = Path(mkdtemp(prefix="flowalg-", dir="/tmp")), server_user()
    try:
        if user is not None:
            shutil.chown(folder, user)
        made: list[str | Path] = [
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
        done = subprocess.run(made, user=user, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        with (folder / "log").open("wb") as log:
            options: list[str | Path] = ["-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
            # In a session of its own, so that an interrupt from the keyboard stops the tests first.
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
        asked = subprocess.run([programs / "pg_isready", "-q", "-h", folder], check=False)
        if asked.returncode == 0:
            return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError((folder / "log").read_text())


__all__ = ["MISSING", "binaries", "cluster"]
