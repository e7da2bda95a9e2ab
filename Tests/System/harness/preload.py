# SPDX-License-Identifier: Apache-2.0
"""Replaces functions of the C library in programs."""

import os
import pathlib

from .daemon import BINARIES, run
from .expect import equal


def preloaded(name):
    """The environment in which a program has some functions replaced, by those of a C file in the folder `preload`."""
    library = BINARIES.parent / f"{name}.so"
    fresh = library.with_suffix(f".{os.getpid()}")  # another run may use the old one meanwhile
    done = run("cc", "-shared", "-fPIC", "-O1", "-o", fresh, pathlib.Path(__file__).parent / "preload" / f"{name}.c")
    equal((done.status, done.err), (0, ""), "cc")
    os.replace(fresh, library)
    return {"LD_PRELOAD": str(library)}
