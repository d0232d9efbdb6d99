"""Loops over bits and digits that a negative number, or 0, keeps going for ever."""

import ast

import pytest

from jupyter_kerneldoctor.diagnosis.code.bit_loops import endless_bits
from jupyter_kerneldoctor.diagnosis.code.loop_changes import running_nodes
from jupyter_kerneldoctor.diagnosis.code.notebook import Notebook


def why(source):
    loop = ast.parse(source).body[0]
    return endless_bits(Notebook((), None), loop, [node for one in loop.body for node in running_nodes(one)])


@pytest.mark.parametrize(
    "source",
    [
        "while b:\n    a, b = a ^ b, (a & b) << 1",
        "while True:\n    c = a & b\n    a ^= b\n    b = c << 1\n    if b == 0: break",
        "while borrow != 0:\n    d = d ^ borrow\n    borrow = (d & borrow) << 1",
        "while n:\n    n &= n - 1; count += 1",
        "while n != 0:\n    n -= n & -n",
        "while n:\n    bits.append(n & 1)\n    n >>= 1",
        "while n:\n    back = back * 10 + n % 10\n    n = n // 10",
        "while x or y:\n    d += (x & 1) != (y & 1)\n    x >>= 1\n    y >>= 1",
        "while True:\n    n, d = divmod(n, 2)\n    if not n: return",
        "while n & 1 == 0:\n    n >>= 1",
        "while power != n:\n    power <<= 1",
    ],
)
def test_it_does_not_end(source):
    assert why(source)


@pytest.mark.parametrize(
    "source",
    [
        "while b:\n    a, b = (a ^ b) & M, ((a & b) << 1) & M",
        "while b:\n    a, b = a ^ b, ((a & b) << 1) % 2**32",
        "while e:\n    if e & 1: r = r * b % m\n    b = b * b % m\n    e >>= 1",
        "while n:\n    n = int(n / 10)",
        "while n > 0:\n    n //= 10",
        "while n:\n    n -= 1",
        "while a != b:\n    a <<= 1\n    b += a",
        "while n:\n    n >>= 1\n    if late: break",
        "while n:\n    n = step(n) >> 1",
        "while b:\n    a, b = b, a % b",
    ],
)
def test_it_ends_or_is_not_known(source):
    assert why(source) is None
