"""What a trial's exception means is told by the whole of its name."""

import pytest

from jupyter_kerneldoctor.trial.outcome import names_error


@pytest.mark.parametrize(
    ("error", "is_meant"),
    [
        ("MemoryError", True),
        ("OutOfMemoryError", True),
        ("OSError", False),
        ("Error", False),
        ("E", False),
        ("", False),
        (None, False),
    ],
)
def test_an_exception_is_meant_where_the_title_has_its_name(error, is_meant):
    assert names_error("Raise `MemoryError` (torch.OutOfMemoryError, WinOSError) in its place", error) is is_meant
