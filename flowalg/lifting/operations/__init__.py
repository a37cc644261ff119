"""The operations of Python that lifting understands, one kind of value a module."""
