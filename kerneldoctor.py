"""The door for `%load_ext kerneldoctor`; everything else lives in `jupyter_kerneldoctor`."""

from jupyter_kerneldoctor.kernel import load_ipython_extension, unload_ipython_extension

__all__ = ["load_ipython_extension", "unload_ipython_extension"]
