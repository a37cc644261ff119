"""The engine-independent expression tree of lifted functions, and its analyses."""
