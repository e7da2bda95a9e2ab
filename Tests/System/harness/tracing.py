# SPDX-License-Identifier: Apache-2.0
"""Stops a single thread of a process, as a debugger does (ptrace(2))."""

import contextlib
import ctypes
import os

_SEIZE, _INTERRUPT, _DETACH, _WALL = 0x4206, 0x4207, 17, 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, thread):
    if _libc.ptrace(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


@contextlib.contextmanager
def stopped_thread(thread):
    """Stops the thread with this id during the `with` block."""
    _ptrace(_SEIZE, thread)
    _ptrace(_INTERRUPT, thread)
    os.waitpid(thread, _WALL)
    try:
        yield
    finally:
        _ptrace(_DETACH, thread)
