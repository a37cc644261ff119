"""A pipeline over unbounded input, micro-batch by micro-batch."""
