"""Reading the data of sources: inputs, readers of files, frames and records, and bad records."""

__all__: list[str] = []
