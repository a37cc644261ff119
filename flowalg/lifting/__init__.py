"""Lifting: translates a user function into an expression over its element, if the translation is provably exact.

- ``tree``: the engine-independent expressions, with their value intervals and where they can fail.
- ``python``: the source of a function, verified against its bytecode, and the values that its names refer to.
- ``operations``: the supported operations of Python, one module for each kind of value.
- ``syntax``, ``functions`` and ``builtin_calls`` translate syntax; ``lift`` translates a function, ``analysis`` a chain
  of steps.
- ``required_fields``: which fields of its element a function reads that cannot be lifted.
"""
