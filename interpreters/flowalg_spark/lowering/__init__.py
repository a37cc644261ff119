"""What batch and streaming share: element-wise steps, records and values as columns of Spark."""
