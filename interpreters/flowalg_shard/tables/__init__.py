"""Polars tables: the names of their columns, and their packed form."""
