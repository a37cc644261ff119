"""Queries that move to another engine."""
