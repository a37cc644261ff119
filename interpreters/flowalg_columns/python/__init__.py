"""What Python computes over Arrow batches: steps, functions as columns, windows, groups."""
