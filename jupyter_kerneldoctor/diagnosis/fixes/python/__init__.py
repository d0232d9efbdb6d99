"""Plain Python: containers, generators, recursion, files read by hand."""
