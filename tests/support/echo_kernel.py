"""A kernel for another language, run as a script: it prints its cells. `fail` fails, `die` aborts, `sleep 1` sleeps."""

import asyncio
import os

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel


class EchoKernel(Kernel):
    implementation, implementation_version, banner = "echo", "1", "echo"
    language_info = {"name": "echo", "mimetype": "text/plain", "file_extension": ".txt"}  # noqa: RUF012 - ipykernel's way

    async def do_execute(self, code, silent, store_history=True, *args, **kwargs):
        if code == "die":
            os.abort()
        if code.startswith("sleep"):
            await asyncio.sleep(float(code.split()[1]))
        if code == "fail":
            content = {"ename": "Wrong", "evalue": "", "traceback": []}
            self.send_response(self.iopub_socket, "error", content)
            return {"status": "error", "execution_count": self.execution_count, **content}
        if not silent:
            self.send_response(self.iopub_socket, "stream", {"name": "stdout", "text": code})
        count = self.execution_count
        return {"status": "ok", "execution_count": count, "payload": [], "user_expressions": {}}


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=EchoKernel)
