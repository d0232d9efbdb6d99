"""`python -I -S .../sidecar/__main__.py DIRECTORY|--shared SOCKET_FD [KERNEL_PIDFD]` (`recording.sidecar_launch`)."""

import os
import sys

if not __package__:  # run by path and without site-packages: the package is found behind the standard library
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from jupyter_kerneldoctor.sidecar.main import main

if __name__ == "__main__":
    main(sys.argv[1:])
