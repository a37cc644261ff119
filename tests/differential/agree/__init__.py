"""Compares all engines on generated pipelines, for as long as it is given."""

__all__: list[str] = []
