"""What elements are made of: times, values, their shapes, keys with values, and the errors that name them."""
