"""`show`: what was recorded, in order of time."""

from argparse import Namespace
from dataclasses import asdict

from . import output
from .recordings import find_or_newest, reading, usable_store


def show(options: Namespace) -> None:
    """Print what was recorded, in order of time."""
    store = usable_store()
    recording_id = find_or_newest(store, options.recording)
    with reading(recording_id):
        recording = store.open(recording_id)
    if options.json:
        output.say_json(asdict(recording))
        return
    from jupyter_kerneldoctor.render.event_log import render  # noqa: PLC0415 - JSON needs no words

    output.say(render(recording))
