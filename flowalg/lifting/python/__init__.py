"""What lifting reads from Python itself: the source of a function, its scope, and the values that it captures."""
