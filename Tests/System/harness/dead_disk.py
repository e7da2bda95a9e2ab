# SPDX-License-Identifier: Apache-2.0
"""A file system that never answers: whoever looks at a file in it sleeps, and cannot be killed, until it is gone."""

import contextlib
import ctypes
import os
import struct
import threading

from .attacker import need_root
from .expect import Skip

FUSE_INIT = 26
libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def dead_disk(folder):
    """Mounts one at `folder` (fuse(4)), which is made; at the end of the block all who wait for it get an error."""
    need_root()
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise Skip(f"/dev/fuse: {error.strerror}") from None
    os.mkdir(folder)
    path = os.fsencode(folder)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"dead", path, b"fuse", 0, options) != 0:
        os.close(device)
        raise Skip(f"mount: {os.strerror(ctypes.get_errno())}")
    # Requests have to be read, or their senders could still be killed.
    threading.Thread(target=_read, args=(device,), daemon=True).start()
    try:
        yield
    finally:
        libc.umount2(path, 1 | 2)  # MNT_FORCE aborts the connection, MNT_DETACH takes the mount out of sight
        os.close(device)


def _read(device):
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError:
            return
        _, operation, unique = struct.unpack_from("=IIQ", request)
        if operation == FUSE_INIT:
            body = struct.pack("=IIIIHHIIHHI7I", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 0, 0, 0, *[0] * 7)
            os.write(device, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)
