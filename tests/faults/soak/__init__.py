"""Queries that run for hours, from Kafka to PostgreSQL and Kafka, on both streaming engines: ``make soak``."""
