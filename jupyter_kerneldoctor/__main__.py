"""`python -m jupyter_kerneldoctor`, for when the `jupyter` command is not on the path."""

import sys

from jupyter_kerneldoctor.cli import main

if __name__ == "__main__":
    sys.exit(main())
