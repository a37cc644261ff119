"""An S3 server for tests, that of moto in this process, and a proxy before it that lets requests fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final, cast

from attrs import define, field
from obstore.store import S3Store

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

BUCKET: Final = "flowalg"
ACCESS: Final = "access"
SECRET: Final = "secret"


@contextmanager
def s3_server() -> Iterator[str]:
    """Yields the URL of a server with an empty bucket."""
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        connection = HTTPConnection(host, port)
        connection.request("PUT", f"/{BUCKET}")
        assert connection.getresponse().status == 200
        connection.close()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def environment(url: str) -> dict[str, str]:
    """Returns the environment variables with which a process finds a server."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }


def s3_store(url: str, prefix: str, *, timeout: float = 5, retries: int = 0) -> S3Store:
    """Returns a store in the bucket of a server, with a timeout of each request in seconds, and so many retries."""
    backoff = timedelta(milliseconds=10)
    client: ClientConfig = {"allow_http": True, "timeout": timedelta(seconds=timeout)}
    retry: RetryConfig = {
        "max_retries": retries,
        "retry_timeout": timedelta(seconds=30),
        "backoff": {"init_backoff": backoff, "max_backoff": 3 * backoff, "base": 2},
    }
    return S3Store(
        BUCKET,
        prefix=prefix,
        endpoint=url,
        region="us-east-1",
        access_key_id=ACCESS,
        secret_access_key=SECRET,
        client_options=client,
        retry_config=retry,
    )


@define
class Proxy:
    """A server that forwards requests, each in a way that ``fault`` chooses by its method and path.

    The ways are ``pass``; ``drop`` (the connection ends before the request is forwarded), ``lose`` (after it was),
    ``late`` (it is forwarded after the client has given up), ``busy`` (503) and ``deny`` (403).
    """

    target: str
    fault: Callable[[str, str], str] = field(default=lambda method, path: "pass")
    late: float = 0.5
    """The seconds after which a late request is forwarded."""

    requests: list[str] = field(factory=list)

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Yields the URL of the proxy."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                proxy.requests.append(f"{self.command} {self.path}")
                way = proxy.fault(self.command, self.path)
                if way in ("busy", "deny"):
                    self._answer(
                        503 if way == "busy" else 403, {}, b"<Error><Code>AccessDenied</Code></Error>"
                    )
                    return
                if way == "late":
                    time.sleep(proxy.late)
                if way == "drop":
                    self.close_connection = True
                    return
                status, headers, answer = proxy.forward(self.command, self.path, body, dict(self.headers))
                if way in ("lose", "late"):
                    self.close_connection = True
                else:
                    self._answer(status, headers, answer)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle

            def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in (
                        "content-length",
                        "connection",
                        "transfer-encoding",
                        "date",
                        "server",
                    ):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            host, port = cast("tuple[str, int]", server.server_address[:2])
            yield f"http://{host}:{port}"
        finally:
            server.shutdown()
            server.server_close()

    def forward(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        """Sends a request to the target and returns its answer."""
        host, _, port = self.target.removeprefix("http://").partition(":")
        connection = HTTPConnection(host, int(port))
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()
