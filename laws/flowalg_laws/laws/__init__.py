"""The laws of the algebra, one part of it a module."""
