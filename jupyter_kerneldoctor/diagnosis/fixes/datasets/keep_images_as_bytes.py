import ast

from ...calls import nodes_at
from ...code.origins import all_origins
from ...fix import Case, Death, Family, Fix, Proposal, Proposals, Scope, quote, size
from ...frameworks.numpy import GATHERERS
from ..arrays.downcast_float32 import doubles

_WHITE = 255
_READ_IMAGES = ("imread", "Image.open", "decode_png", "decode_jpeg", "decode_image", "load_img", "img_to_array")


class KeepImagesAsBytes(Fix):
    """Keep images as bytes, and convert one batch at a time.

    What it does: A pixel of an image is a byte (uint8). `images / 255` makes a number of 8 bytes of it. Where half of
    that does not fit either, keep the images as they are and divide each batch when it is used.

    When it is offered: Memory ran out on a line that divides or converts an array of uint8, or an image as it is read.

    What it costs: Each batch is converted again in each round, which takes little time.
    """

    id, title, causes = "keep-images-as-bytes", "Keep the images as uint8, convert a batch at a time", (Family.MEMORY,)

    FIRES = [
        Case(
            "import numpy as np\npics = np.zeros((9000, 300, 300), dtype='uint8')",
            "X = pics / 255.0",
            says=("772 MiB", "yield pics[at : at + rows].astype('float32') / 255.0"),
        ),
        Case(
            "import numpy as np\nfrom PIL import Image\ndef load(p): return np.asarray(Image.open(p)) / 255",
            "pictures = [load(p) for p in paths]",
            says=("np.asarray(Image.open(p)) / np.float32(255)",),
        ),
        Case(
            "import cv2\nimport numpy as np\nclass Scans:\n    def __init__(self): self.pics = []\n"
            "    def load(self, p): self.pics.append(cv2.resize(cv2.imread(p), (512, 512)))\n"
            "    def array(self):\n        return np.array(self.pics) / 255.0",
            "x = Scans().array()",
            says=("pixels = np.array(self.pics)", "astype('float32') / 255.0", "an eighth"),
        ),
    ]
    SILENT = [
        Case("import numpy as np\npics = np.zeros((9000, 300, 300), dtype='float32')", "X = pics / 255.0"),
        Case("import numpy as np\npics = np.zeros((90, 300, 300), dtype='uint8')", "X = pics / 255.0\nload()"),
        Case(
            "import numpy as np\nx = np.zeros((9000, 300, 300), dtype='uint8')", "x / 255\nbig = [0] * 10**10", line=2
        ),
        Case(  # it is the array that is too large, whatever is put into it
            "import numpy as np\nfrom PIL import Image\nout = np.zeros((9000, 300, 300))",
            "for i, p in enumerate(paths):\n    out[i] = np.asarray(Image.open(p)) / 255",
        ),
        Case("import numpy as np\nfrom PIL import Image", "x = np.asarray(Image.open(p), dtype=np.float32) / 255"),
        Case("from PIL import Image", "pictures = [Image.open(p) for p in paths]"),
    ]

    def propose(self, death: Death) -> Proposals:
        if death.is_of_this_cell and not death.ran_before:
            yield from _arrays(death)
            yield from _images(death)


def _arrays(death: Death) -> Proposals:
    headroom, missing = death.safe_headroom_bytes, death.memory.missing_bytes or 0
    for node, scope, _ in doubles(death):
        value = death.values.of(node, scope)
        inner = node.left if isinstance(node, ast.BinOp) else getattr(getattr(node, "func", None), "value", None)
        source = death.values.of(inner, scope)
        if inner is None or source is None or value is None or source.dtype != "uint8":
            continue
        small, taken = source.bytes or 0, value.bytes or 0
        if headroom is not None and taken // 2 > headroom - small and taken >= missing // 4:
            by = scope.segment(node.right) if isinstance(node, ast.BinOp) else "255"
            yield Proposal(
                (),
                f"{quote(scope.segment(node))} makes {size(taken)}. The numbers as they are take {size(small)}. "
                "Convert one batch at a time.",
                taken - small,
                snippet=_batches(inner, by, small, scope),
            )


def _batches(inner: ast.expr, by: str, small: int, scope: Scope) -> str:
    text = scope.segment(inner)
    held = size(small) if small else "as they are"
    pixels, keep = (text, "") if isinstance(inner, ast.Name) else ("pixels", f"pixels = {text}  # {held}\n\n")
    return (
        f"{keep}def batches(rows=64):\n    for at in range(0, len({pixels}), rows):\n"
        f"        yield {pixels}[at : at + rows].astype('float32') / {by}"
    )


def _images(death: Death) -> Proposals:
    for node, scope in nodes_at(death, ast.BinOp):
        match node:
            case ast.BinOp(op=ast.Div(), left=left, right=ast.Constant() as by):
                stored = any(isinstance(one, ast.Subscript) for one in getattr(scope.statement_of(node), "targets", ()))
                if stored or death.values.of(left, scope) is not None or "float32" in scope.segment(left):
                    continue
                if _is_read(left, scope, death):
                    yield Proposal(
                        (),
                        f"{quote(scope.segment(node))} makes 8 bytes (float64) of each byte of the image. In "
                        "float32 it takes half; kept as uint8 and divided batch by batch, an eighth.",
                        (death.memory.missing_bytes or 0) * 7 // 8,
                        "Keep the images as uint8, or divide by a float32",
                        f"import numpy as np\n\n{scope.segment(left)} / np.float32({scope.segment(by)})",
                    )
                elif by.value == _WHITE and not scope.loops_around(node) and _is_gathered(left, scope, death):
                    yield Proposal(
                        (),
                        f"{quote(scope.segment(node))} makes 8 bytes (float64) of each byte of the images. In float32 "
                        "it takes half; kept as uint8 and divided batch by batch, an eighth.",
                        death.memory.missing_bytes,
                        snippet=_batches(left, scope.segment(by), 0, scope),
                    )


def _is_gathered(node: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether an array is put together of many: only that, or its name, stands for all images."""
    found = [node] if isinstance(node, ast.Call) else [one for one, _ in all_origins(node, scope, death.code)]
    return any(isinstance(one, ast.Call) and death.code.qualified(one.func, scope) in GATHERERS for one in found)


def _is_read(node: ast.expr, scope: Scope, death: Death) -> bool:
    """Whether a value comes from a function that reads an image."""
    for one, where in all_origins(node, scope, death.code, parts=True):
        if isinstance(one, ast.Call) and (death.code.described(one.func, where) or "").endswith(_READ_IMAGES):
            return True
    return False
