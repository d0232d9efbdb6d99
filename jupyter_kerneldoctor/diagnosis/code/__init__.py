"""What the user's code says: its calls, names and lines, read and never run."""
