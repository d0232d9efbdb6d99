"""What a recording shows, one subject in a file. Nothing here judges a cause, and nothing knows `Death`."""
