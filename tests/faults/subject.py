"""A query that can be killed: it runs in a process of its own, and goes on from its checkpoint.

``python -m tests.faults.subject FILE`` runs the subject that is stored in a file. The module needs little to be
imported, since ``spark-submit`` runs it on a cluster too.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from attrs import frozen

ROOT: Final = Path(__file__).resolve().parents[2]
Process: TypeAlias = subprocess.Popen[bytes]


@frozen
class Subject(ABC):
    """A query. Its folder has its checkpoint, and the log of its processes."""

    folder: Path

    @abstractmethod
    def run(self) -> None:
        """Runs the query in this process, from its checkpoint on, to the end of its input."""

    @property
    def command(self) -> Sequence[str]:
        """The command that runs a stored subject, whose file is its last argument."""
        return (sys.executable, "-m", "tests.faults.subject")

    @property
    def environment(self) -> Mapping[str, str] | None:
        """The environment variables of the command; by default those of this process."""
        return None

    @property
    def checkpoint(self) -> Path:
        """The folder of the checkpoint."""
        return self.folder / "checkpoint"

    @property
    def log(self) -> str:
        """What the processes of the query have printed."""
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> Process:
        """Starts a process that runs the query, in a process group of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        stored = self.folder / "subject"
        stored.write_bytes(pickle.dumps(self))
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*self.command, str(stored)],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def begun(self) -> int:
        """Returns a number that grows with each micro-batch that begins: Spark's own, or a time of the local engine."""
        intent = self.checkpoint / "intent"
        if intent.exists():
            return intent.stat().st_mtime_ns
        return max((int(path.name) for path in (self.checkpoint / "offsets").glob("[0-9]*")), default=-1)


if __name__ == "__main__":
    subject: Subject = pickle.loads(Path(sys.argv[1]).read_bytes())
    subject.run()
