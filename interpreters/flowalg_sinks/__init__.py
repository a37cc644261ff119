"""Targets of sinks: SQLite and PostgreSQL tables, each micro-batch written in one transaction."""
