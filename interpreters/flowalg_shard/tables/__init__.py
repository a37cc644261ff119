"""Polars tables: their columns, and their packed form between instants."""
