import math

from ...fix import Call, CallAnother, Case, Death, Family

_FLOAT_BYTES = 8
_IMAGES = "import numpy as np\na = np.random.rand(180, 180, 3)\nb = np.random.rand(180, 180, 3)"


class InnerToEinsum(CallAnother):
    """Multiply vectors that belong together, not all with all.

    What it does: `np.inner(a, b)` of two images gives the product of each pixel of one with each pixel of the other:
    180 x 180 x 180 x 180 numbers. `np.einsum('...i,...i', a, b)` gives the product of the pixels at the same place.

    When it is offered: Memory ran out on a line that calls `np.inner` with two arrays of the same shape, of two
    dimensions or more, and the size of the result explains it.

    What it costs: Another result: the one that was most likely meant.
    """

    id, title, causes = "inner-to-einsum", "Multiply only what belongs together: einsum", (Family.MEMORY,)
    functions, becomes = ("numpy.inner",), "{module}.einsum('...i,...i', {0}, {1})"
    why = (
        "multiplies each vector of one array with each of the other. `einsum('...i,...i', …)` multiplies those at the "
        "same place."
    )

    FIRES = [Case(_IMAGES, "s = np.inner(a, b)", becomes="s = np.einsum('...i,...i', a, b)", says=("saves 7.8 GiB",))]
    SILENT = [
        Case("import numpy as np\na = np.ones(10**6)", "s = np.inner(a, a)"),
        Case("import numpy as np\na = np.ones((200, 3))", "s = np.inner(a, a)"),
        Case(_IMAGES, "s = np.inner(a, b)\nbig = [0] * 10**10", line=2),
        Case(_IMAGES, "s = np.inner(a, c)"),
    ]

    def saves(self, call: Call, death: Death) -> int | None:
        """Count the result, where both have the same shape."""
        values = [death.values.of(one, call.scope) for one in call.node.args]
        shapes = [one.shape for one in values if one is not None and len(one.shape) > 1]
        if len(shapes) != 2 or shapes[0] != shapes[1]:
            return None
        return (math.prod(shapes[0][:-1]) ** 2 - math.prod(shapes[0][:-1])) * _FLOAT_BYTES
