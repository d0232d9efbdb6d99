"""Figures, and what a cell shows."""
