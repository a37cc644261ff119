"""Combiners: commutative monoids with a result, the built-in ones and user-defined ones."""
