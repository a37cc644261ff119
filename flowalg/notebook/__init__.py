"""HTML views of pipelines, timelines and runs for notebooks. No other package of the core imports it."""
