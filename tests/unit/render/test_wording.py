import pytest

from jupyter_kerneldoctor.render import jsontext, wording


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x00", r"\x00"),
        ("\ud800", r"\ud800"),
        ("\u202e", r"\u202e"),
    ],
)
def test_what_would_be_obeyed_is_shown(given, shown):
    assert wording.visible(given) == shown


def test_never_quite_sure():
    assert wording.sureness(1.0) == "99 % sure"
    assert wording.sureness(0.6) == "60 % sure"


def test_an_end_without_a_summary_is_named_by_what_is_known():
    assert wording.how_it_ended({"end": {"kind": "signal", "signal": "SIGSEGV"}}) == "SIGSEGV"
    assert wording.how_it_ended({"end": {"kind": "exit", "exit_code": 3}}) == "exit code 3"
    assert wording.how_it_ended({"end": {"kind": "unknown"}}) == "unknown"


def test_a_kernel_that_is_loaded_at_start_needs_no_advice_to_load_it(doc):
    doc["loaded_by"] = "startup"

    assert not any("%load_ext" in step for step in wording.next_steps(doc))


def test_an_ordinary_end_needs_no_next_step(doc):
    doc["died"] = False

    assert wording.next_steps(doc) == []


def test_json_is_ascii_and_valid_whatever_is_inside():
    text = jsontext.render({"nan": float("nan"), "inf": [float("inf")], "lone": "\ud800", "esc": "\x1b", "é": 1.5})

    assert text == r'{"nan": null, "inf": [null], "lone": "\ud800", "esc": "\u001b", "\u00e9": 1.5}'
