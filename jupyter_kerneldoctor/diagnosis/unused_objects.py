"""What the kernel held while the cell that ran did not use it."""

from jupyter_kerneldoctor.recording.events import NamedObject

from .death import Death


def unused_objects(death: Death, least_bytes: float) -> list[NamedObject]:
    """Return the user's variables of at least this size that nothing which ran names, largest first."""
    used = death.code.running.used_names
    held = [one for look in death.recording.namespaces[-1:] for one in look.objects if not one.hidden]
    found = [one for one in held if one.bytes >= least_bytes and one.name not in used]
    return sorted(found, key=lambda one: -one.bytes)
