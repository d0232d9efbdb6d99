"""Data sets, loaders and their workers."""
