"""What a pipeline runs on and what a run gives: timelines, micro-batches, panes."""
