"""Which file systems ask a server, that may never answer."""

import re

MAY_HANG = re.compile(
    r"(nfs|cifs|smb|fuse(?!blk|\.fuse-overlayfs)|9p|ceph|afs|lustre|gpfs|beegfs|glusterfs|virtiofs|davfs|coda|ncp|orangefs|autofs|pvfs|wekafs)"
)
"""Kinds of file systems that ask a server."""
