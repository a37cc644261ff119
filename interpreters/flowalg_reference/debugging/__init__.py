"""Why a pane fired when it did, and why a window has not fired: a run, replayed."""
