"""Databases as targets of sinks."""
