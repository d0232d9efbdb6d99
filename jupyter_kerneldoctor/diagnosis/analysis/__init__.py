"""What a recording shows, one subject a file: no cause is judged here."""
