# SPDX-License-Identifier: Apache-2.0
"""A file system that never answers. A process that accesses a file in it cannot be killed until it is unmounted."""

import contextlib
import ctypes
import mmap
import os
import pathlib
import struct
import threading

from .attacker import need_root
from .expect import Skip, eventually

FUSE_LOOKUP, FUSE_GETATTR, FUSE_OPEN, FUSE_INIT = 1, 3, 14, 26
SIZE = 4096
libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def dead_disk(folder, opens=False):
    """Mounts one at `folder` (fuse(4)), which it creates. At the end of the block, all waiting processes get an error.

    If it `opens`, a file can be opened, but not closed.
    """
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
    # A process can be killed until its request is read.
    threading.Thread(target=_read, args=(device, opens), daemon=True).start()
    try:
        yield
    finally:
        libc.umount2(path, 1 | 2)  # MNT_FORCE aborts the connection, MNT_DETACH hides the mount
        os.close(device)


def stuck_pipe(folder):
    """A pipe whose release waits for the file system at `folder`, which must open files: its writer holds its lock while it waits for a page."""
    path = folder / "file"
    eventually(path.exists, "the file system")
    file = os.open(path, os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    page = ctypes.c_void_p(libc.mmap(None, SIZE, mmap.PROT_READ, mmap.MAP_PRIVATE, file, 0))
    reading, writing = os.pipe()
    thread = threading.Thread(target=libc.write, args=(writing, page, SIZE), daemon=True)
    thread.start()
    task = pathlib.Path(f"/proc/self/task/{thread.native_id}/stat")
    eventually(lambda: task.read_text().rpartition(")")[2].split()[0] in "DS", "the writer waits")
    return reading


def _read(device, opens):
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError:
            return
        _, operation, unique = struct.unpack_from("=IIQ", request)
        body = _answer(operation, opens)
        if body is not None:
            os.write(device, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)


def _answer(operation, opens):
    if operation == FUSE_INIT:
        return struct.pack("=IIIIHHIIHHI7I", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 0, 0, 0, *[0] * 7)
    if not opens:
        return None
    file = struct.pack("=6Q10I", 2, SIZE, 0, 0, 0, 0, 0, 0, 0, 0o100666, 1, 0, 0, 0, 4096, 0)
    answers = {FUSE_LOOKUP: struct.pack("=4Q2I", 2, 0, 60, 60, 0, 0) + file, FUSE_OPEN: struct.pack("=QII", 1, 0, 0),
               FUSE_GETATTR: struct.pack("=QII", 60, 0, 0) + file}
    return answers.get(operation)
