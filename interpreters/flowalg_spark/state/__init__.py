"""The state of a streaming query: its format, its cache in the workers, and its checkpoint."""
