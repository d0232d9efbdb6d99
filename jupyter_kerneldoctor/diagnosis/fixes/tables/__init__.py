"""Tables: pandas and polars."""
