from ...calls import calls_at
from ...fix import Advice, Case, Death, Family
from ...units import quote


class OpenMesh(Advice):
    """Keep the axes of a mesh as they are, and let the arithmetic combine them.

    What it does: `np.meshgrid` writes each coordinate of each point of the mesh: three axes of 420 points are three
    arrays of 74 million numbers. With `sparse=True` each array has the points of its own axis only. NumPy combines them
    in the arithmetic that follows, so that only the result is as large as the mesh.

    When it is offered: Memory ran out in such a call.

    What it costs: What needs the full shape must ask for it: `np.zeros_like(x)` has the shape of one axis then.
    """

    id, title, causes = "open-mesh", "Make the mesh with `sparse=True`", (Family.MEMORY,)
    why = (
        "{mesh} writes all coordinates of all points of the mesh. With `sparse=True` it gives one short array for each "
        "axis, and the arithmetic combines them. Arrays of the full shape are made of `np.broadcast_shapes`, not of "
        "`zeros_like`."
    )
    snippet = (
        "axes = {open_}\n"
        "shape = np.broadcast_shapes(*(one.shape for one in axes))\n"
        "result = np.zeros(shape)  # in place of np.zeros_like(x); np.float32 takes half"
    )

    FIRES = [
        Case(
            "import numpy as np\ndef mesh(axis):\n    return np.meshgrid(axis, axis, axis, indexing='ij')",
            "x, y, z = mesh(np.linspace(0, 1, 420))",
            says=("np.meshgrid(axis, axis, axis, indexing='ij', sparse=True)", "zeros_like"),
        )
    ]
    SILENT = [
        Case("import numpy as np\na = np.arange(9)", "x, y = np.meshgrid(a, a)\nbig = [0] * 10**10", line=2),
        Case("import numpy as np\na = np.arange(9)", "x, y = np.meshgrid(a, a, sparse=True)\nf(x * y)"),
        Case("import numpy as np\na = np.arange(9)", "x, = np.meshgrid(a)"),
    ]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Find the mesh that is written out."""
        for call in calls_at(death, "numpy.meshgrid"):
            axes = [death.values.of(one, call.scope) for one in call.node.args]
            points = 1
            for one in axes:
                points *= one.shape[0] if one is not None and len(one.shape) == 1 else 0
            too_few = points > 0 and len(axes) * points * 8 < (death.memory.missing_bytes or 0) // 4
            if len(axes) > 1 and call.argument("sparse") is None and not too_few and call.is_written_out:
                return {"mesh": quote(call.text), "open_": f"{call.text.rstrip()[:-1].rstrip(', ')}, sparse=True)"}
        return None
