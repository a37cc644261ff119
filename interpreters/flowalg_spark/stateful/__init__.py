"""Streaming, from the lowering down: stages as stateful operators, and the exchange before and after them."""

__all__: list[str] = []
