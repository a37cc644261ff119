"""The local engine: a pipeline on Polars, in one process and without a JVM."""
