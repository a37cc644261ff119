"""The location of a checkpoint, as users give it: a path, a URL, or an object store."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Final, Protocol, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from flowalg.data.errors import ArgumentError, Hidden, MissingExtraError, hidden, is_url, local_folder
from flowalg_polars.streaming.storage.local_folder import LocalFolder
from flowalg_polars.streaming.storage.object_store import ObjectStorage, ObjectStore
from flowalg_polars.streaming.storage.storage import Storage

CheckpointLocation: TypeAlias = str | PathLike[str] | ObjectStore
"""A path of this machine, a URL of an object store, or an object store of obstore."""

_SCHEMES: Final = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "memory", "file")
_VALID: Final = (
    "a path such as 'folder', a URL such as s3://bucket/folder, gs://, az:// or memory://name, or a store"
)


class _WithPrefix(Protocol):
    @property
    def prefix(self) -> Path | None: ...


_MEMORY: Final[dict[str, ObjectStore]] = {}
"""The stores of URLs with ``memory``, which last as long as the process."""


def storage_at(location: CheckpointLocation | Storage) -> Storage:
    """Returns the storage of a checkpoint; raises ``ArgumentError`` for anything else, a file too."""
    if isinstance(location, LocalFolder | ObjectStorage):
        return location
    if isinstance(location, str) and is_url(location):
        return _at_url(location)
    if isinstance(location, str | PathLike):
        return LocalFolder(Path(local_folder("checkpoint", location)))
    if isinstance(location, ObjectStore):
        return _in_store(location, _shown(location))
    raise ArgumentError("checkpoint", hidden(location), _VALID)


def _at_url(url: str) -> Storage:
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or "://" not in url or parts.username is not None or parts.query:
        why = "credentials come from the environment" if parts.username is not None or parts.query else None
        raise ArgumentError("checkpoint", Hidden(url), _VALID, why=why)
    if parts.scheme == "file":
        return LocalFolder(Path(local_folder("checkpoint", unquote(parts.path))))
    stores = _module("obstore.store")
    if parts.scheme == "memory":
        return _in_store(_MEMORY.setdefault(url, cast("ObjectStore", stores.MemoryStore())), url)
    try:
        store = stores.from_url(url)
    except (_module("obstore.exceptions").BaseError, ValueError) as error:
        raise ArgumentError(
            "checkpoint", url, _VALID, why=str(error).partition("\n\nDebug source")[0]
        ) from error
    return _in_store(cast("ObjectStore", store), url)


def _in_store(store: ObjectStore, name: str) -> Storage:
    """Returns the storage in an object store. The folder of a ``LocalStore`` is used as a folder of this machine."""
    stores = _module("obstore.store")
    if isinstance(store, stores.LocalStore):
        prefix = cast("_WithPrefix", store).prefix
        if prefix is None:
            raise ArgumentError("checkpoint", hidden(store), "a LocalStore with a prefix")
        return LocalFolder(Path(local_folder("checkpoint", prefix)))
    if isinstance(store, stores.HTTPStore):
        raise ArgumentError("checkpoint", hidden(store), "a store that can be written to")
    return ObjectStorage(name, store, _module("obstore.exceptions"))


def _shown(store: ObjectStore) -> str:
    """Returns the name of a store for messages."""
    text = repr(store)
    return type(store).__name__ if " object at " in text else text


def _module(name: str) -> ModuleType:
    """Returns a module of obstore; raises ``MissingExtraError`` if it is not installed."""
    try:
        return import_module(name)
    except ImportError as missing:
        raise MissingExtraError(
            "a checkpoint in an object store needs the package obstore: pip install 'flowalg[store]'"
        ) from missing
