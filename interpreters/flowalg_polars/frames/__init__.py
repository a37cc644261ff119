"""Frames of panes, and frames from timelines."""
