"""A private Kafka broker: ``python -m tests.components.broker`` runs one until it is interrupted.

It is one process in KRaft mode, broker and controller, on free ports of the loopback interface, with its data in a
temporary folder. It needs Java 17 or newer, and Maven to get the jars once.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from attrs import define

from tests.components import java
from tests.components.jars import missing_jars, resolve_jars
from tests.components.memory import scratch_folder

VERSION: Final = "4.1.1"
COORDINATES: Final = (f"org.apache.kafka:kafka_2.13:{VERSION}", "org.slf4j:slf4j-simple:1.7.36")
NO_JAVA: Final = f"Kafka needs Java {java.NEEDED} or newer (apt-get install {java.APT_PACKAGES[0]})"
SECONDS: Final = 240

_STARTED: Final = "Kafka Server started"
_PROPERTIES: Final = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers={host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=1000
log.cleaner.dedupe.buffer.size=4194304
"""
_HOST: Final = "127.0.0.1"


def missing() -> str | None:
    """Returns what a broker needs and this machine lacks; ``None`` if nothing."""
    return NO_JAVA if _java() is None else missing_jars("kafka")


@define
class Broker:
    """A broker, which can be stopped and started again on the same data and ports."""

    folder: Path
    port: int
    controller: int
    _process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        """The address, as clients need it."""
        return f"{_HOST}:{self.port}"

    @property
    def log(self) -> Path:
        """The file with the log of the last start."""
        return self.folder / "log"

    def start(self) -> None:
        """Starts the broker and waits until it answers; raises ``RuntimeError`` with its log if it ends instead."""
        if self._process is not None:
            return
        properties = self.folder / "server.properties"
        if not properties.exists():
            data = self.folder / "data"
            text = _PROPERTIES.format(host=_HOST, port=self.port, controller=self.controller, data=data)
            properties.write_text(text)
            self._format(properties)
        with self.log.open("wb") as log:
            # A separate session: an interrupt from the keyboard then stops the tests first.
            self._process = subprocess.Popen(
                _command("kafka.Kafka", str(properties)), stdout=log, stderr=log, start_new_session=True
            )
        self._wait(self._process)

    def stop(self, *, kill: bool = False) -> None:
        """Stops the broker; with ``kill`` at once, as if the machine had failed. Its data remain."""
        process, self._process = self._process, None
        if process is None:
            return
        if kill:
            process.kill()
        else:
            process.terminate()
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _format(self, properties: Path) -> None:
        # A cluster has an id of 16 bytes in base64; any will do for a private one.
        formatting = ("format", "--standalone", "-t", "Zmxvd2FsZy1wcml2YXRlLQ", "-c", str(properties))
        command = _command("kafka.tools.StorageTool", *formatting)
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"the storage of the broker could not be formatted:\n{result.stderr}")

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(SECONDS * 20):
            if _STARTED in self.log.read_text(errors="replace"):
                return
            if process.poll() is not None:
                break
            time.sleep(0.05)
        self.stop(kill=True)
        raise RuntimeError(f"the broker did not start:\n{self.log.read_text(errors='replace')[-4000:]}")


@contextmanager
def broker() -> Iterator[Broker]:
    """Yields a running broker; stops it and removes its data afterwards.

    Raises ``RuntimeError`` if Java or Maven is missing, or if the broker does not start.
    """
    lacking = missing()
    if lacking is not None:
        raise RuntimeError(lacking)
    folder = Path(mkdtemp(prefix="flowalg-kafka-", dir=scratch_folder()))
    try:
        port, controller = _free_ports(2)
        started = Broker(folder, port, controller)
        try:
            started.start()
            yield started
        finally:
            started.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _java() -> Path | None:
    home = java.find(Path(__file__).resolve().parents[2] / ".java", Path("/usr/lib/jvm"))
    if home is None:
        return None
    program = shutil.which("java") if not home else str(Path(home, "bin", "java"))
    return None if program is None else Path(program)


def _command(main: str, *arguments: str) -> list[str]:
    program = _java()
    if program is None:
        raise RuntimeError(NO_JAVA)
    jars = ":".join(map(str, resolve_jars("kafka", COORDINATES)))
    return [str(program), "-Xmx512m", "-XX:+UseSerialGC", "-cp", jars, main, *arguments]


def _free_ports(count: int) -> list[int]:
    """Returns ports of the loopback interface that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for free_socket in sockets:
            free_socket.bind((_HOST, 0))
        return [free_socket.getsockname()[1] for free_socket in sockets]
    finally:
        for free_socket in sockets:
            free_socket.close()


def main() -> None:
    """Runs a broker until it is interrupted, and prints its address."""
    with broker() as started, suppress(KeyboardInterrupt):
        print(
            f"Kafka {VERSION} at {started.servers}; data in {started.folder}; stop it with Ctrl+C", flush=True
        )
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
