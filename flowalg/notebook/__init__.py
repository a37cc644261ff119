"""HTML views of pipelines, timelines and runs for notebooks. No other room of the core imports it."""
