"""Queries that group: by windows of time, and by key."""

__all__: list[str] = []
