"""What an interpreter is, and which ones are installed."""
