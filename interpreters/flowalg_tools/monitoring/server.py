"""The status page: a small HTTP server that shows the queries of a monitor, and changes nothing."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from importlib.util import find_spec
from ipaddress import ip_address
from socket import AF_INET6
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

from attrs import define, field, frozen

from flowalg.data.errors import ArgumentError
from flowalg_tools.monitoring.log_lines import Json
from flowalg_tools.monitoring.monitor import Monitor
from flowalg_tools.monitoring.views import statuses_view, windows_view
from flowalg_tools.monitoring.windows import WindowReader

PORT: Final = 8484
"""The default port of the status page."""

_FILES: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/status.js": ("status.js", "text/javascript; charset=utf-8"),
    "/status.css": ("status.css", "text/css; charset=utf-8"),
}
_HEADERS: Final = {
    # The page loads nothing from elsewhere, runs no script of its data, and is shown in no other page.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_LOG: Final = logging.getLogger("flowalg.status")
_JSON: Final = "application/json"
_POLLS: Final = 0.05
"""How often the server looks whether it is to stop, in seconds."""

_PATIENCE: Final = 10
"""The seconds for which the server waits for a client."""


def serve(
    monitor: Monitor,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    windows: Mapping[str, WindowReader] | None = None,
    names: Sequence[str] = (),
) -> StatusServer:
    """Starts a status page for the queries of a monitor, in a thread of this process, and returns its server.

    ``/`` is the page (``/#windows`` with the open windows unfolded), ``/status.json`` its data, and ``/metrics`` the
    metrics as Prometheus text, if ``flowalg[prometheus]`` is installed. ``windows`` has readers of the open windows of
    queries, by their names. The server has no authentication. On the loopback, the default, it rejects requests to
    other names than those of the loopback and ``names``. ``port`` 0 is a free port.

    Raises ``ArgumentError`` for an address on which it cannot listen.

    Example::

        with serve(monitor, windows={"totals": local_windows("checkpoint")}) as server:
            print(server.url)
            streaming.run(totals, inputs, sink=table, checkpoint="checkpoint", name="totals", observers=[monitor])
    """
    if not isinstance(monitor, Monitor):
        raise ArgumentError("monitor", monitor, "a Monitor")
    if not isinstance(host, str):
        raise ArgumentError("host", host, "an address or a name, such as '127.0.0.1'")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 2**16:
        raise ArgumentError("port", port, "an int from 0 to 65535")
    pages = _Pages(monitor, dict(windows or {}))
    allowed = frozenset({"localhost", "127.0.0.1", "::1", host, *names}) if _is_loopback(host) else None

    class Handler(_Handler):
        shown = pages
        hosts = allowed

    try:
        server = (_Server6 if ":" in host else _Server)((host, port), Handler)
    except OSError as failure:
        valid = "an address on which this process can listen"
        raise ArgumentError("host, port", f"{host}:{port}", valid, why=str(failure)) from failure
    thread = Thread(target=server.serve_forever, args=(_POLLS,), name="flowalg status page", daemon=True)
    thread.start()
    return StatusServer(server, thread)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Server(ThreadingMixIn, TCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Logs what ends a connection, such as a client that has gone, in one line."""
        _LOG.info("the status page could not answer %s: %r", client_address, sys.exception())


class _Server6(_Server):
    address_family = AF_INET6


@define(eq=False)
class StatusServer:
    """A running status page; closed by ``close()`` or at the end of a ``with`` block."""

    _server: TCPServer
    _thread: Thread

    @property
    def url(self) -> str:
        """The address of the page."""
        host, port = str(self._server.server_address[0]), self._server.server_address[1]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def close(self) -> None:
        """Stops the server and frees its port; afterwards it does nothing."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@frozen
class _Answer:
    """An answer to a request."""

    body: bytes
    kind: str = _JSON
    status: HTTPStatus = HTTPStatus.OK

    @classmethod
    def of_json(cls, value: Json, status: HTTPStatus = HTTPStatus.OK) -> _Answer:
        """Returns a value as JSON."""
        return cls(json.dumps(value).encode(), status=status)

    @classmethod
    def refused(cls, status: HTTPStatus, reason: str) -> _Answer:
        """Returns an error, with its reason."""
        return cls.of_json({"error": reason}, status)


@define(eq=False)
class _Pages:
    """The answers to requests. Open windows are read once for each micro-batch, by one request at a time."""

    monitor: Monitor
    readers: Mapping[str, WindowReader]
    _read: dict[tuple[str, int], tuple[int, Json]] = field(factory=dict, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def answer(self, path: str, query: Mapping[str, Sequence[str]]) -> _Answer:
        """Returns the answer for a path and the arguments after it."""
        match path:
            case "/status.json":
                return _Answer.of_json(statuses_view(self.monitor.statuses, self.readers))
            case "/windows.json":
                return self._windows(query)
            case "/metrics":
                return self._metrics()
            case _ if path in _FILES:
                name, kind = _FILES[path]
                return _Answer((files("flowalg_tools.monitoring") / "page" / name).read_bytes(), kind)
            case _:
                return _Answer.refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _metrics(self) -> _Answer:
        if find_spec("prometheus_client") is None:
            reason = "prometheus-client is not installed: pip install 'flowalg[prometheus]'"
            return _Answer.refused(HTTPStatus.NOT_FOUND, reason)
        from flowalg_tools.monitoring.prometheus import CONTENT_TYPE, prometheus_text

        return _Answer(prometheus_text(self.monitor.statuses).encode(), CONTENT_TYPE)

    def _windows(self, query: Mapping[str, Sequence[str]]) -> _Answer:
        (name, *_), (number, *_) = query.get("query", [""]), query.get("stage", [""])
        status = next((status for status in self.monitor.statuses if status.query == name), None)
        stages = () if status is None or status.total is None else status.total.stages
        stage = next((stage for stage in stages if str(stage.number) == number), None)
        if status is None or stage is None or name not in self.readers:
            return _Answer.refused(
                HTTPStatus.NOT_FOUND, "there is no such query, or its windows are not shown"
            )
        with self._lock:
            read = self._read.get((name, stage.number))
            if read is None or read[0] != status.batches:
                state = self.readers[name](stage.number, len(stages))
                read = self._read[name, stage.number] = (status.batches, windows_view(state, stage))
        return _Answer.of_json(read[1])


class _Handler(BaseHTTPRequestHandler):
    """Handles a request. It only reads: every method but GET is refused."""

    shown: _Pages
    hosts: frozenset[str] | None
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """Answers a request."""
        answer = self._answer()
        self.send_response(answer.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _answer(self) -> _Answer:
        try:
            url, host = urlsplit(self.path), self._host()
            arguments = parse_qs(url.query)
        except ValueError as error:
            return _Answer.refused(HTTPStatus.BAD_REQUEST, f"the request is not valid: {error}")
        if self.hosts is not None and host not in self.hosts:
            # A page of another site whose name leads to the loopback may not read this one.
            return _Answer.refused(HTTPStatus.FORBIDDEN, "the status page has another name")
        try:
            return self.shown.answer(url.path, arguments)
        except Exception as error:
            return _Answer.refused(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")

    def _host(self) -> str | None:
        """Returns the name of this server in the request, without its port."""
        return urlsplit(f"//{self.headers.get('Host', '')}").hostname

    def version_string(self) -> str:
        """Returns the name of the server, without versions."""
        return "flowalg"

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: a page asks every two seconds."""
