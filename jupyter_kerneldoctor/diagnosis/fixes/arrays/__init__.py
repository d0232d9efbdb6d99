"""Arrays: NumPy and SciPy."""
