"""Queries that join: streams with each other, and with a table."""

__all__: list[str] = []
