"""Files, disks and shared memory."""
