"""The values that elements hold: times, shapes, key-value pairs, hashing, and the errors of the library."""
