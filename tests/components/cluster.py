"""Spark's standalone cluster in processes of this machine: a master, and workers with addresses of their own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import psutil
import pyspark
from attrs import define, field

from tests.components.processes import children_of, command_of, kill_tree

MASTER: Final = "127.0.0.1"
HOSTS: Final = ("127.0.0.2", "127.0.0.3")
"""The addresses of the workers. They differ, since Spark starts no second attempt of a task on the same host."""

PATIENCE: Final = 180.0
"""The seconds that a process of the cluster may take to start."""

_EXECUTOR: Final = "CoarseGrainedExecutorBackend"


@define(eq=False)
class Worker:
    """A worker of the cluster."""

    host: str
    process: subprocess.Popen[bytes]


@define(eq=False)
class StandaloneCluster:
    """A master and a worker for each of ``hosts``, with one core and ``memory`` for executors each, in a folder.

    Used in a ``with`` statement, which stops all processes at the end.
    """

    folder: Path
    hosts: Sequence[str] = HOSTS
    memory: str = "1g"
    workers: list[Worker] = field(factory=list, init=False)
    _port: int = field(factory=lambda: _free_port(), init=False)
    _page: int = field(factory=lambda: _free_port(), init=False)
    _master: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        """The address for ``spark-submit --master``."""
        return f"spark://{MASTER}:{self._port}"

    def __enter__(self) -> StandaloneCluster:
        """Starts the master and the workers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._master = self._start(
                MASTER, "master.Master", "--port", str(self._port), "--webui-port", str(self._page)
            )
            self._wait_for(0)
            for host in self.hosts:
                self.start_worker(host)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops all processes."""
        self.stop()

    def start_worker(self, host: str) -> None:
        """Starts a worker, and waits until the master knows it."""
        before = self._alive()
        work = self.folder / f"work-{host}"
        options = ("--cores", "1", "--memory", self.memory, "--work-dir", str(work), "--webui-port", "0")
        self.workers.append(Worker(host, self._start(host, "worker.Worker", *options, self.url)))
        self._wait_for(before + 1)

    def executors(self) -> list[psutil.Process]:
        """Returns the processes of the executors."""
        return [
            process
            for worker in self.workers
            for process in children_of(worker.process)
            if _EXECUTOR in command_of(process)
        ]

    def kill_worker(self, worker: Worker) -> None:
        """Kills a worker and its executors; the master finds out by the lost connection."""
        kill_tree(worker.process)
        self.workers.remove(worker)

    def stop(self) -> None:
        """Stops all processes."""
        for worker in list(self.workers):
            self.kill_worker(worker)
        if self._master is not None:
            kill_tree(self._master)
            self._master = None

    def _start(self, host: str, name: str, *options: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": host,
            # A worker that starts with Spark's default of a gigabyte for itself would take much of the machine.
            "SPARK_DAEMON_MEMORY": "256m",
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", host]
        with (self.folder / f"{name.partition('.')[0]}-{host}.log").open("ab") as log:
            return subprocess.Popen(
                [*command, *options], stdout=log, stderr=log, env=environment, start_new_session=True
            )

    def _wait_for(self, workers: int) -> None:
        """Waits until the master answers and knows some workers."""
        until = time.monotonic() + PATIENCE
        while self._alive() < workers:
            if time.monotonic() > until:
                logs = "\n".join(log.read_text()[-1000:] for log in self.folder.glob("*.log"))
                raise RuntimeError(f"the cluster has not started within {PATIENCE:.0f} s:\n{logs}")
            time.sleep(0.2)

    def _alive(self) -> int:
        """Returns the number of workers that are alive; -1 if the master does not answer."""
        try:
            with urlopen(f"http://{MASTER}:{self._page}/json/", timeout=5) as answer:
                state = json.load(answer)
        except (URLError, OSError, ValueError):
            return -1
        return sum(worker["state"] == "ALIVE" for worker in state["workers"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((MASTER, 0))
        port: int = probe.getsockname()[1]
        return port
