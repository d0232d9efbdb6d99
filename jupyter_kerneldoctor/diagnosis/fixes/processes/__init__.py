"""Processes, threads, and what they wait for."""
