"""The supported operations of Python, one module for each kind of value."""
