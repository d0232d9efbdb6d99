"""KernelDoctor on other versions of Python and of Jupyter: `versions.suite` tests, `versions.front_ends` looks."""
