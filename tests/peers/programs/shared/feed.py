"""What the programs of all peers are given, and how they print what they got.

Times are seconds after ``BASE``, windows are one minute long, and sessions have a gap of a minute. A feed is a sequence
of steps, each an element or an advance of the watermark. A peer without watermarks of the caller gets an element of the
key ``clock`` instead, at the event time of the watermark (``as_elements``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

BASE: Final = 1_704_110_400
"""2024-01-01T12:00:00Z, as seconds of the epoch."""

WINDOW: Final = 60
LATENESS: Final = 120
END: Final = 400
"""A watermark that passes the end of every window and its allowed lateness."""

UNTYPED: Final = ("import-untyped", "no-untyped-call", "no-any-return", "untyped-decorator")
"""The errors of mypy about packages without types."""

MANY: Final = 10
"""The number of connectors from which on they are not counted exactly."""

CLOCK: Final = "clock"


class Step(NamedTuple):
    """An element with its event time, or an advance of the watermark to ``at`` if the key is ``None``."""

    key: str | None
    value: int
    at: int


def element(key: str, value: int, at: int) -> Step:
    """Returns a step with an element."""
    return Step(key, value, at)


def watermark(at: int) -> Step:
    """Returns a step that advances the watermark."""
    return Step(None, 0, at)


COMPOSITE: Final = (
    element("ann", 5, 10),
    element("ann", 3, 20),
    element("ann", 2, 50),
    watermark(60),
    element("ann", 4, 30),
    watermark(END),
)
"""Two elements make an early pane of 8; 10 is on time; 14 is late."""

LATE: Final = (
    element("ann", 2, 10),
    element("ann", 3, 15),
    watermark(60),
    element("ann", 4, 30),
    watermark(200),
    element("ann", 9, 40),
    watermark(END),
)
"""The sum is 5 on time; 4 is late by less than the allowed lateness, 9 by more."""

TOO_LATE: Final = (
    element("ann", 5, 10),
    watermark(200),
    element("ann", 9, 40),
    element("ann", 1, 45),
    watermark(END),
)
"""Two elements are too late, and arrive together where a peer has micro-batches."""

CORRECTION: Final = (
    element("ann", 5, 10),
    element("bob", 5, 20),
    watermark(60),
    element("ann", 4, 30),
    watermark(END),
)
"""Two players have 5 points each, until a late element makes it 9 for one of them."""

SESSIONS: Final = (
    element("ann", 1, 0),
    element("ann", 1, 20),
    element("ann", 1, 130),
    watermark(190),
    element("ann", 1, 75),
    watermark(END),
)
"""Two sessions, from 0 to 80 and from 130 to 190, until a late element joins them."""

JOINED: Final = (element("order", 7, 10), watermark(60), element("payment", 300, 30), watermark(END))
"""An order without a payment, which is paid late."""

UNORDERED: Final = (element("ann", 5, 10), element("ann", 7, 70), element("ann", 3, 20), watermark(END))
"""The sums of the minutes are 8 and 7."""

ARRIVALS: Final = ((12, 5, 10), (25, 3, 20), (71, 7, 70), (80, 4, 30))
"""Recorded rows: the second of arrival, the value, and the event time."""

STREAM: Final = (5, 3, 7, 2)
"""Values that arrive one after the other; their running sums are 5, 8, 15 and 17."""

DEADLY: Final = 7
"""The value at which a query is killed the first time (``die_once``)."""

BUNDLES: Final = ((1.0, 2.0), (9.0,))
"""Two bundles of values whose average is 4; the average of their averages is 5.25."""


def as_elements(steps: Iterable[Step]) -> list[tuple[str, int, int]]:
    """Returns the steps as elements only, with the watermarks as elements of the key ``clock``."""
    return [(CLOCK if key is None else key, value, at) for key, value, at in steps]


def refusal(action: Callable[[], object]) -> str:
    """Returns the kind and the first line of the error that an action raises; ``accepted`` if it raises none."""
    try:
        action()
    except Exception as error:  # the point is to show which one
        first = (str(error).strip().splitlines() or [""])[0]
        return f"{type(error).__name__}: {first}"[:110]
    return "accepted"


def die_once(value: int, folder: str) -> int:
    """Kills the query of the folder with ``SIGKILL`` if ``value`` is ``DEADLY`` and it has not been killed before."""
    marker = Path(folder, "died")
    if value == DEADLY and not marker.exists():
        marker.touch()
        os.killpg(int(Path(folder, "leader").read_text()), signal.SIGKILL)
    return value


def at_least(number: int, count: int) -> object:
    """Returns ``N or more`` if the count is at least the number, else the count."""
    return f"{number} or more" if count >= number else count


def release(version: str) -> str:
    """Returns ``1.0 or later``, or the version."""
    return "1.0 or later" if int(version.partition(".")[0]) >= 1 else version


def refused(**actions: Callable[[], object]) -> list[str]:
    """Returns the names of the actions that raise an error, with spaces for underscores."""
    return [name.replace("_", " ") for name, action in actions.items() if refusal(action) != "accepted"]


def restart(script: str) -> object:
    """Returns what a query has written that was killed and started again.

    ``script FOLDER`` runs the query over ``STREAM``. Its checkpoint and its output are in the folder: the file
    ``output`` has the running sums, one a line, in the order in which they were written.
    """
    with tempfile.TemporaryDirectory() as folder:
        codes, text = [], ""
        for _ in range(2):
            command = [sys.executable, script, folder]
            # A group of processes of its own, which is killed as a whole.
            process = subprocess.Popen(
                command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            Path(folder, "leader").write_text(str(process.pid))
            text, _ = process.communicate(timeout=240)
            codes.append(process.returncode)
        if codes != [-signal.SIGKILL, 0]:
            raise RuntimeError(f"the query ended with {codes}: {text[-1500:]}")
        return [int(line) for line in Path(folder, "output").read_text().split()]


def reported_mistakes(program: str) -> list[str]:
    """Returns the comments ``# mistake: ...`` of those lines of a program that ``mypy --strict`` reports.

    Errors that the peer's package has no types do not count: a correct program has them as well.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "wrong.py").write_text(program)
        untyped = [f"--disable-error-code={code}" for code in UNTYPED]
        command = [sys.executable, "-m", "mypy", "--strict", *untyped, "wrong.py"]
        text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    lines = {int(line.split(":")[1]) for line in text.splitlines() if line.startswith("wrong.py:")}
    return [
        line.partition("# mistake: ")[2]
        for number, line in enumerate(program.splitlines(), 1)
        if "# mistake: " in line and number in lines
    ]


def print_cells(*programs: Callable[[], object], query: Callable[[str], None] | None = None) -> None:
    """Runs the functions, one for each feature, and prints the name and the result of each as a line of JSON.

    With arguments on the command line, only the functions of these names run; with a folder, which ``restart`` gives,
    ``query`` runs in it instead.
    """
    if query is not None and len(sys.argv) > 1 and Path(sys.argv[1]).is_dir():
        query(sys.argv[1])
        return
    # Engines write to the standard output as well, from Java and from workers.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for program in programs:
        if len(sys.argv) > 1 and program.__name__ not in sys.argv[1:]:
            continue
        try:
            got = program()
        except Exception as error:
            got = f"failed: {type(error).__name__}: {error}"[:2000]
        output.write(json.dumps({"feature": program.__name__, "got": got}) + "\n")
        output.flush()
