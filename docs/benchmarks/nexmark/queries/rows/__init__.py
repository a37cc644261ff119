"""Queries whose rows are computed one by one."""

__all__: list[str] = []
