"""The queries of Nexmark, one module for each."""

__all__: list[str] = []
