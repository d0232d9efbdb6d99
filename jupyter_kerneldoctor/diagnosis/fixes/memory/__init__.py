"""Any cell that needs more memory than there is."""
