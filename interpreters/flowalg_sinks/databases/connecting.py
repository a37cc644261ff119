"""Connections to PostgreSQL: strings are checked early, no password is in an error, and waiting is limited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Final, NoReturn

from flowalg.data.errors import ArgumentError, MissingExtraError, hidden

if TYPE_CHECKING:
    import psycopg

_SHOWN: Final = ("service", "host", "hostaddr", "port", "dbname", "user")
"""The parameters whose values an error may contain."""


def driver(use: str) -> ModuleType:
    """Returns the module psycopg; raises ``MissingExtraError``, which names the use, if it is not installed."""
    try:
        import psycopg
    except ImportError as missing:
        raise MissingExtraError(
            f"{use} needs the package psycopg: pip install 'flowalg[postgresql]'"
        ) from missing
    return psycopg


def require_conninfo(argument: str, conninfo: object, example: str) -> None:
    """Raises ``ArgumentError``, which does not contain the value, for anything else than a connection string."""

    def reject(why: str | None = None) -> NoReturn:
        # Not the error of libpq: it may have a part of the password.
        raise ArgumentError(
            argument, hidden(conninfo), f"a connection string, such as {example!r}", why=why
        ) from None

    if not isinstance(conninfo, str):
        reject()
    psycopg = driver(argument.partition(".")[0])
    try:
        parameters = psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        reject(
            "it is neither a sequence of name=value, with quotes around values with spaces, nor a URI, with special "
            "characters of its password as %XX"
        )
    if "@" in str(parameters.get("host", "")):
        reject("its host contains '@'; in a URI, write special characters of the password as %XX")
    if "://" in str(parameters.get("dbname", "")) or "password" in str(parameters.get("dbname", "")):
        reject("its dbname is a connection string; give the string itself")
    if not str(parameters.get("port") or "0").replace(",", "").isdigit():
        reject("its port is not a number; in a URI, write special characters of the password as %XX")


def connect(conninfo: str, timeout: timedelta) -> psycopg.Connection[tuple[object, ...]]:
    """Returns a connection that waits at most ``timeout`` for a server, for a lock, and for an acknowledgement.

    Settings of the connection string precede. Raises psycopg's error without the values of the parameters.
    """
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    parameters = conninfo_to_dict(conninfo)
    millis = timeout // timedelta(milliseconds=1)
    limits = {"connect_timeout": max(2, millis // 1000), "tcp_user_timeout": millis}
    limited = make_conninfo("", **{**limits, **parameters})
    with _without_values(parameters):
        connection = psycopg.connect(limited)
    connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{millis}ms",))
    connection.execute("SET TIME ZONE 'UTC'")
    connection.commit()
    return connection


def server_name(conninfo: str) -> str:
    """Returns the parameters of a connection string that say which server and database it is, and nothing else."""
    from psycopg.conninfo import conninfo_to_dict

    parameters = conninfo_to_dict(conninfo)
    named = [f"{name}={parameters[name]}" for name in _SHOWN if parameters.get(name)]
    return f"PostgreSQL with {' '.join(named)}" if named else "PostgreSQL"


def reason_of(error: psycopg.Error) -> str:
    """Returns what the server or the client says of an error, as one line and without the statement."""
    lines = (error.diag.message_primary or str(error)).splitlines()
    return "; ".join(" ".join(line.split()) for line in lines)


@contextmanager
def _without_values(parameters: Mapping[str, object]) -> Iterator[None]:
    """Raises psycopg's errors without the values of parameters that may be secret."""
    import psycopg

    try:
        yield
    except psycopg.OperationalError as error:
        text = str(error)
        for name, value in parameters.items():
            if name not in _SHOWN and value:
                text = text.replace(str(value), "***")
        raise type(error)(text) from None
