"""The files of a folder that have records: not those that are hidden, temporary, or in folders of a partition."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Sequence
from typing import Final

from flowalg.data.errors import ElementError

TEMPORARY: Final = r"\.tmp$|\.crc$|\._copying_$"
"""The ends, in lower case, of the names of files that are still written, or that belong to another file."""

_TEMPORARY: Final = re.compile(TEMPORARY)
_SHOWN: Final = 5
"""The number of files that a warning names."""


def is_data_file(name: str) -> bool:
    """Returns whether a file of this name has records: none that begins with ``_`` or ``.``, or that is temporary."""
    return not name.startswith((".", "_")) and _TEMPORARY.search(name.lower()) is None


def describe_changed(files: Sequence[str]) -> str:
    """Returns the warning of files, by their paths, that have changed since they were read."""
    more = f", and {len(files) - _SHOWN} more files" if len(files) > _SHOWN else ""
    return (
        f"the file {', '.join(files[:_SHOWN])}{more} has changed after it was read; its new content is not read: write "
        "files elsewhere, and move them into the folder"
    )


def data_files(source: str, folder: str, read: Container[str] = ()) -> Iterator[os.DirEntry[str]]:
    """Yields the files of a folder that have records of a source, except for those ``read``, in no order.

    Raises ``ElementError`` for a folder ``NAME=VALUE`` in it, whose files would have a further column, and for a named
    pipe, a socket or a device: its reader might wait for ever.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in read or not is_data_file(entry.name):
                continue
            if entry.is_file():
                yield entry
            elif "=" in entry.name and entry.is_dir():
                raise ElementError(
                    f"source {source!r}: {folder} must be a folder of files; got the folder {entry.name} in it, of a "
                    "partition; read each such folder as a source of its own, or write its column into the files"
                )
            else:
                require_file(source, entry.path)


def require_file(source: str, path: str) -> None:
    """Raises ``ElementError`` for a named pipe, a socket or a device, whose reader might wait for ever."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ElementError(f"source {source!r}: {path} must be a file; it is a pipe, a socket or a device")


def nested_files(folder: str, suffix: str) -> list[str]:
    """Returns the paths of the files with a suffix in a folder and in all folders in it, sorted; not of hidden ones."""
    paths: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        paths += [os.path.join(place, name) for name in names if name.endswith(suffix) and is_data_file(name)]
    return sorted(paths)
