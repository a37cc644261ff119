"""A checkpoint in an object store: heads are replaced by conditional puts, which also stop a writer that was replaced.

A start takes the heads one after another: it writes each again with its own mark, on condition that its version has not
changed since it was read. The previous owner then fails at its next put, whose condition has the version that it has
written last. Fencing needs neither a lock, which a process on another machine cannot see, nor a lease, which a slow
process can outlive.

The client may retry a put whose answer is late or lost. The second attempt then fails, since the first one has changed
the version. Each start has a unique mark, so the stored bytes show whether the put has succeeded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Final, Literal, Protocol, TypedDict, runtime_checkable
from uuid import uuid4

from attrs import define, field, frozen
from typing_extensions import Buffer

from flowalg.data.errors import CheckpointError
from flowalg_polars.streaming.storage.storage import HEADS, READS

_LAYOUT: Final = 1
"""The version of the first line of a head."""

_ATTEMPTS: Final = 100
"""How often a start tries to take a head that a running query replaces at the same time."""

_QUERY: Final = re.compile(r"(?<=[\w/])\?[^\s\"]*")
_LONGEST: Final = 400
_NO_BUCKET: Final = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
_RETRY: Final = "when it answers, start the query again: it continues from its last micro-batch"


class Version(TypedDict, total=False):
    """The version of an object, as the store reports it."""

    e_tag: str | None
    version: str | None


class Content(Protocol):
    """The answer to a request for an object."""

    @property
    def meta(self) -> Mapping[str, object]:
        """The version of the object, among others."""
        ...

    def bytes(self) -> Buffer:
        """Returns the bytes of the object, as a buffer."""
        ...


@runtime_checkable
class ObjectStore(Protocol):
    """An object store of obstore, such as ``obstore.store.S3Store``; the paths begin at its prefix."""

    def get(self, path: str, /) -> Content:
        """Returns an object."""
        ...

    def put(
        self, path: str, file: bytes, /, *, mode: Literal["create", "overwrite"] | Version | None = None
    ) -> Mapping[str, object]:
        """Stores an object; with a ``mode``, only if it does not exist, or has a version. Returns its version."""
        ...

    def list(self, prefix: str | None = None, /) -> Iterable[Sequence[Mapping[str, object]]]:
        """Yields lists of the objects with a prefix."""
        ...

    def delete(self, paths: Sequence[str], /) -> None:
        """Deletes objects."""
        ...


@frozen
class _Mark:
    """The first line of a head: which start has written it. A later start has a greater number."""

    start: int
    owner: str


@frozen
class _Head:
    """A head as it is stored: its mark, its bytes, and its version in the store. No bytes are no file."""

    mark: _Mark
    payload: bytes
    version: Version


@define
class ObjectStorage:
    """The objects of a checkpoint. A start takes them over from the process that has them."""

    name: str
    store: ObjectStore
    errors: ModuleType
    """The module ``obstore.exceptions``."""

    _mark: _Mark = field(factory=lambda: _Mark(0, uuid4().hex))
    _versions: dict[str, Version] = field(factory=dict)
    _taken: dict[str, bytes] = field(factory=dict)

    @contextmanager
    def own(self) -> Iterator[None]:
        """Takes all heads; the previous owner can no longer replace them."""
        self._mark = self._take_first()
        for head in HEADS[1:]:
            self._take(head)
        yield

    def _take_first(self) -> _Mark:
        """Takes the first head with a number that no other start has, and returns the mark."""
        for _ in range(_ATTEMPTS):
            heads = {head: self._head(head, f"its {head}") for head in HEADS}
            number = 1 + max(head.mark.start for head in heads.values())
            mark = _Mark(number, self._mark.owner)
            if self._put_head(HEADS[0], mark, heads[HEADS[0]]):
                return mark
        raise self._contended()

    def _take(self, name: str) -> None:
        for _ in range(_ATTEMPTS):
            head = self._head(name, f"its {name}")
            if head.mark.start > self._mark.start:
                raise self._replaced(head.mark)
            if self._put_head(name, self._mark, head):
                return
        raise self._contended()

    def _put_head(self, name: str, mark: _Mark, before: _Head) -> bool:
        """Writes a head again with a mark; returns whether it still had the version that was read."""
        data = _marked(mark, before.payload)
        version = self._put_if(name, data, before.version)
        if version is None:
            now = self._head(name, f"its {name}")
            if now.mark != mark:
                return False
            version = now.version  # an attempt of the client whose answer was lost
        self._versions[name], self._taken[name] = version, before.payload
        return True

    def require_owned(self) -> None:
        """Does nothing: the next put finds out."""

    def read(self, name: str, what: str) -> bytes | None:
        """Returns the bytes of an object."""
        if name in HEADS:
            taken = self._taken.get(name)
            return (self._head(name, what).payload if taken is None else taken) or None
        with self._naming_errors(f"cannot be read: {what}"):
            return self._get(name)[0]

    def create(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Stores new objects."""
        for name, payload in files:
            with self._naming_errors("cannot be written"):
                self.store.put(name, payload)

    def replace(self, head: str, payload: bytes) -> None:
        """Replaces a head if this start has written it last."""
        data = _marked(self._mark, payload)
        self._taken.pop(head, None)
        version = self._put_if(head, data, self._versions[head])
        if version is None:
            now = self._head(head, f"its {head}")
            if (now.mark, now.payload) != (self._mark, payload):
                raise self._replaced(now.mark)
            version = now.version  # an attempt of the client whose answer was lost
        self._versions[head] = version

    def names(self, folder: str) -> list[str]:
        """Returns the names of the objects in a folder."""
        with self._naming_errors("cannot be read"):
            pages = list(self.store.list(folder))
        names = [str(found["path"]) for page in pages for found in page]
        return [name for name in names if name.startswith(f"{folder}/")]

    def delete(self, names: Iterable[str]) -> None:
        """Deletes objects."""
        listed = list(names)
        if listed:
            # Some stores report what is not there.
            with self._naming_errors("cannot be written"), suppress(FileNotFoundError):
                self.store.delete(listed)

    def _get(self, name: str) -> tuple[bytes | None, Version]:
        """Returns the bytes and the version of an object, or ``None``."""
        try:
            found = self.store.get(name)
        except FileNotFoundError:
            return None, Version()
        return bytes(found.bytes()), _version(found.meta)

    def _head(self, name: str, what: str) -> _Head:
        """Returns a head; raises ``CheckpointError`` if its first line is damaged, or of a later version."""
        with self._naming_errors(f"cannot be read: {what}"):
            data, version = self._get(name)
        if data is None:
            return _Head(_Mark(0, ""), b"", version)
        line, _, payload = data.partition(b"\n")
        try:
            fields = json.loads(line)
            layout, mark = fields["layout"], _Mark(int(fields["start"]), str(fields["owner"]))
        except (ValueError, LookupError, TypeError):
            raise CheckpointError(
                f"the checkpoint {self.name} is damaged: the first line of {what} cannot be read; {READS}"
            ) from None
        if layout != _LAYOUT:
            raise CheckpointError(
                f"the checkpoint {self.name} was written by another version of flowalg: {what} has the layout {layout} "
                f"of object stores, and this version reads the layout {_LAYOUT}; continue with the version that wrote "
                "it, or start the query with a new checkpoint"
            )
        return _Head(mark, payload, version)

    def _put_if(self, name: str, data: bytes, before: Version) -> Version | None:
        """Stores an object if it has a version, or does not exist; returns its version, or ``None`` if it had not."""
        with self._naming_errors("cannot be written"):
            try:
                return _version(self.store.put(name, data, mode=before or "create"))
            except (self.errors.AlreadyExistsError, self.errors.PreconditionError):
                return None

    def _replaced(self, mark: _Mark) -> CheckpointError:
        return CheckpointError(
            f"another query has taken over the checkpoint {self.name}: its start {mark.start} has replaced this one, "
            f"its start {self._mark.start}, which ends without a commit; run one query for a checkpoint"
        )

    def _contended(self) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self.name} cannot be taken over: another process has replaced its files {_ATTEMPTS} "
            "times meanwhile; stop that query, or use another checkpoint"
        )

    @contextmanager
    def _naming_errors(self, fails: str) -> Iterator[None]:
        """Raises ``CheckpointError`` with the checkpoint instead of an error of the store."""
        errors = self.errors
        try:
            yield
        except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
            raise CheckpointError(
                f"the checkpoint {self.name} {fails}: the store denies the access: {_reason(error)}; set credentials "
                "that may read, write, list and delete there, in the environment or with an object store of obstore"
            ) from error
        except (errors.NotSupportedError, NotImplementedError) as error:
            raise CheckpointError(
                f"the checkpoint {self.name} {fails}: the store does not support it: {_reason(error)}; use a store "
                "with conditional puts, such as S3, Google Cloud Storage or Azure"
            ) from error
        except (errors.BaseError, OSError, ValueError) as error:
            reason = _reason(error)
            if isinstance(error, FileNotFoundError) or any(code in reason for code in _NO_BUCKET):
                raise CheckpointError(
                    f"the checkpoint {self.name} {fails}: its bucket or container does not exist: {reason}; create it "
                    "first"
                ) from error
            raise CheckpointError(
                f"the checkpoint {self.name} {fails}: the store does not answer, or with an error: {reason}; {_RETRY}"
            ) from error


def _marked(mark: _Mark, payload: bytes) -> bytes:
    line = json.dumps({"layout": _LAYOUT, "start": mark.start, "owner": mark.owner})
    return line.encode() + b"\n" + payload


def _version(meta: Mapping[str, object]) -> Version:
    """Returns the parts of a version that a store has given."""
    version = Version()
    e_tag, number = meta.get("e_tag"), meta.get("version")
    if isinstance(e_tag, str):
        version["e_tag"] = e_tag
    if isinstance(number, str):
        version["version"] = number
    return version


def _reason(error: BaseException) -> str:
    """Returns the message of an error, on one line, without the queries of URLs, which may have a signature."""
    text = str(error).partition("\n\nDebug source")[0]
    return _QUERY.sub("?***", " ".join(text.split()))[:_LONGEST]
