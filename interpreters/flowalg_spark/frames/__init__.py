"""Input and output frames: data of sources, panes, drops, and final values."""
