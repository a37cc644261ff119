"""Lifting: a user function, proved to be a closed expression over its element, as a value.

- ``tree``: the engine-free expressions, and what is known of one: its interval, whether it can fail.
- ``python``: the source of a function, proved to be the code that would run, and what its names stand for.
- ``operations``: the operations of Python that are understood, one kind of value a module.
- ``functions``, ``syntax`` and ``calls`` turn syntax into the tree; ``lift`` does it for a function, ``analysis`` for
  a chain of steps.
- ``fields_read``: which fields a function reads that must run in Python.
"""
