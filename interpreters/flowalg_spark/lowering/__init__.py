"""The compiler of element-wise steps, shared by batch and streaming: sources, lifted functions, Python functions."""
