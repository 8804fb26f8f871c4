"""A stand-in of matplotlib: it draws nothing."""
