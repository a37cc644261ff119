"""What can be said of a pipeline without running it: its text, its hazards, the features that it uses."""
