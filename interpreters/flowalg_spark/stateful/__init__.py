"""Streaming, from the lowering down: stages as stateful operators, and the exchange before and after them."""
