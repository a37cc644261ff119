"""Data and pipelines that have to be read as records."""

from __future__ import annotations


class UnsuitedDataError(Exception):
    """The data, or the pipeline, must be read as records: they have an error, or columns cannot hold them."""
