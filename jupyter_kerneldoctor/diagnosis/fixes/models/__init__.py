"""Models and estimators: how they are loaded, what grows with their data."""
