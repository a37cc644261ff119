"""Tables as bytes, for the exchange between partitions and shards and for the state store."""

from __future__ import annotations

import io
import os
from zlib import crc32

import polars as pl


def pack(table: pl.DataFrame) -> bytes:
    """Returns a table as Arrow IPC bytes. A table without rows is packed as no bytes, and loses its columns."""
    if table.is_empty():
        return b""
    buffer = io.BytesIO()
    table.write_ipc(buffer, compression="lz4")
    return buffer.getvalue()


def unpack(payload: bytes) -> pl.DataFrame:
    """Returns the table of packed bytes; no bytes are a table without columns."""
    if not payload:
        return pl.DataFrame()
    return pl.read_ipc(io.BytesIO(payload))


def pack_parts(*parts: bytes) -> bytes:
    """Returns several parts as one, each after its length."""
    return b"".join(len(part).to_bytes(8) + part for part in parts)


def unpack_parts(packed: bytes) -> list[bytes]:
    """Returns the parts; raises ``ValueError`` if the last one is not whole."""
    parts, at = [], 0
    while at < len(packed):
        end = at + 8 + int.from_bytes(packed[at : at + 8])
        parts.append(packed[at + 8 : end])
        at = end
    if at != len(packed):
        raise ValueError("it is not whole")
    return parts


def stack(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Returns the rows of several tables of one schema, but for the width of integers. Tables without rows may lack
    columns.
    """
    filled = [table for table in tables if not table.is_empty()]
    return pl.concat(filled, how="vertical_relaxed") if filled else pl.DataFrame()


def seal(payload: bytes, name: str = "") -> bytes:
    """Bytes after a checksum of them and of their name, if they have one."""
    return _checksum(payload, name) + payload


def unseal(sealed: bytes | bytearray, name: str = "") -> bytes:
    """Sealed bytes without their checksum; raises ``ValueError`` if it differs."""
    payload = bytes(sealed[4:])
    if sealed[:4] != _checksum(payload, name):
        raise ValueError("its checksum differs")
    return payload


def _checksum(payload: bytes, name: str) -> bytes:
    return crc32(payload, crc32(os.fsencode(name))).to_bytes(4)
