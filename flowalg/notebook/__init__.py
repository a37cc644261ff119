"""What a notebook shows of pipelines, timelines and runs. Nothing else in the core imports it."""
