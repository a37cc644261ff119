"""The files of a checkpoint, in any file system that Spark writes to."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Final, cast

from attrs import frozen
from pyspark.sql import SparkSession

from flowalg_spark.jvm import Java, jvm_of

STARTS: Final = "flowalg/starts"
"""The folder of a checkpoint in which sinks count the starts of its query."""

FINGERPRINTS: Final = "flowalg/fingerprints"
"""The folder with the fingerprint of a micro-batch that another engine has run, under its number."""


@frozen
class CheckpointFiles:
    """The files of one checkpoint. Parts are paths below ``folder``.

    ``hadoop`` is the package of Hadoop's file systems, ``system`` the file system of the folder.
    """

    folder: str
    hadoop: Java
    system: Java
    settings: Java

    @classmethod
    def of(cls, session: SparkSession, folder: str, use: str) -> CheckpointFiles:
        """Returns the files in a folder; raises ``UnsupportedError`` over Spark Connect, which names the use."""
        hadoop = jvm_of(session, use).org.apache.hadoop.fs
        settings = cast("Java", session._jsparkSession).sessionState().newHadoopConf()
        return cls(folder, hadoop, hadoop.Path(folder).getFileSystem(settings), settings)

    def exists(self) -> bool:
        """Returns whether the folder exists."""
        return bool(self.system.exists(self._path("")))

    def below(self, part: str, levels: int) -> list[str]:
        """Returns the files and folders that are so many levels below a folder.

        They are listed level by level: patterns of Hadoop cannot have a path with a colon in it.
        """
        parts = [part]
        for _ in range(levels):
            parts = [f"{folder}/{name}" for folder in parts for name in self.names(folder)]
        return parts

    def write(self, part: str, text: str) -> None:
        """Writes a text to a file, and replaces an existing one."""
        stream = self.system.create(self._path(part), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def names(self, part: str) -> list[str]:
        """Returns the names of the files in a folder; none if it does not exist."""
        if not self.system.exists(self._path(part)):
            return []
        return [str(status.getPath().getName()) for status in self.system.listStatus(self._path(part))]

    def read(self, part: str) -> str | None:
        """Returns the text of a file; ``None`` if it does not exist."""
        if not self.system.exists(self._path(part)):
            return None
        stream = self.system.open(self._path(part))
        try:
            return bytes(cast("bytes", stream.readAllBytes())).decode("utf-8", "replace")
        finally:
            stream.close()

    def rename(self, part: str, name: str) -> None:
        """Gives a file another name in its folder."""
        old = self._path(part)
        if not self.system.rename(old, self.hadoop.Path(old.getParent(), name)):
            raise OSError(f"{part} in {self.folder} cannot be renamed to {name}")

    def remove(self, part: str = "") -> None:
        """Removes a file or a folder with its files, if it exists."""
        self.system.delete(self._path(part), True)

    def copy(self, part: str, other: CheckpointFiles) -> None:
        """Copies a file or a folder with its files, if it exists, to another checkpoint."""
        if self.system.exists(self._path(part)):
            self.hadoop.FileUtil.copy(
                self.system, self._path(part), other.system, other._path(part), False, self.settings
            )

    def _path(self, part: str) -> Java:
        return self.hadoop.Path(f"{self.folder}/{part}" if part else self.folder)


def fingerprint_of_offsets(text: str) -> str:
    """Returns the fingerprint of a log of offsets: of its time and offsets, and not of Spark's settings."""
    _, metadata, *offsets = text.rstrip("\n").split("\n")
    times = {key: value for key, value in json.loads(metadata).items() if key != "conf"}
    return sha256(json.dumps([times, offsets], sort_keys=True).encode()).hexdigest()[:32]
