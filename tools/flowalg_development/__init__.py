"""Scripts of the project itself: deliberate faults, kill tests, thorough runs. Not part of the wheel."""
