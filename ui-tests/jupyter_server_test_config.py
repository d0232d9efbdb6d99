"""The server of the tests: Galata's settings, and recordings in a folder of their own."""

import atexit
import os
import shutil
import tempfile

from jupyterlab.galata import configure_jupyter_server

# All that the server, and Galata for it, put into temporary directories is in this one, and goes when the server ends.
tempfile.tempdir = os.environ["KERNELDOCTOR_DATA_DIR"] = tempfile.mkdtemp(prefix="kerneldoctor-ui-tests-")
atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)

configure_jupyter_server(c)  # noqa: F821
c.ServerApp.allow_root = True  # noqa: F821
c.ServerApp.log_level = "ERROR"  # noqa: F821
c.FileContentsManager.delete_to_trash = False  # what tests delete is gone afterwards  # noqa: F821
c.ServerApp.ip = "127.0.0.1"  # noqa: F821
c.ServerApp.port = int(os.environ.get("KERNELDOCTOR_UI_PORT", "8899"))  # noqa: F821
# Where the server watches all kernels, nobody needs to be told how to have a kernel watched: both are tested.
c.KernelDoctor.watch_all_kernels = "KERNELDOCTOR_UI_WATCH_ALL" in os.environ  # noqa: F821

# As JupyterHub starts it.
if "KERNELDOCTOR_UI_TOKEN" in os.environ:
    c.ServerApp.base_url = "/user/ada/"  # noqa: F821
    c.ServerApp.disable_check_xsrf = False  # noqa: F821
    c.IdentityProvider.token = os.environ["KERNELDOCTOR_UI_TOKEN"]  # noqa: F821
