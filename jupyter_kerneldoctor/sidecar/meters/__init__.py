"""What is measured, one meter a file. A meter that cannot read its source says None, and never raises."""
