"""Plans: what an engine computes for the outputs of a pipeline, decided once for all engines."""
