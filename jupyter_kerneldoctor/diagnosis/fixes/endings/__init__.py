"""Kernels that were ended, or never started."""
