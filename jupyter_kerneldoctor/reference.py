"""The reference pages of causes and fixes: the docstrings of the rules."""

from __future__ import annotations

from functools import cache
from typing import Literal

Kind = Literal["causes", "fixes"]


@cache
def pages(kind: Kind) -> dict[str, str]:
    """Return the Markdown page of each cause or each fix, by id."""
    from .diagnosis.registry import page  # noqa: PLC0415 - importing the rules takes time that most calls do not need

    if kind == "causes":
        from .diagnosis.cause import all_causes  # noqa: PLC0415

        return {cause.id: page(type(cause)) for cause in all_causes()}
    from .diagnosis.fixes import fixes  # noqa: PLC0415

    return {fix.id: page(type(fix)) for fix in fixes()}
