"""Frames at the border: sources in, panes and their final values out."""
