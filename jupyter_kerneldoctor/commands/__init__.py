"""What each command of `jupyter kerneldoctor` does: a function that takes the parsed arguments, prints, and returns."""
