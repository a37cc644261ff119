"""Combiners: commutative monoids that reduce the values of a window to a result."""
