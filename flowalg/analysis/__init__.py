"""Static analyses of a pipeline: its explanation, its hazards, and the features that it uses."""
