# SPDX-License-Identifier: Apache-2.0
"""What must be installed and built before anything is measured."""

import os
import pathlib
import shutil
import sys

from .processes import ROOT, STATUSCTL, STATUSD

UNAVAILABLE = 69


def check_installed():
    """Ends the program with a command that installs what is missing of the packages of packaging/setup."""
    lines = (line.split() for line in (ROOT / "packaging" / "setup").read_text().splitlines())
    needs = [line[1:] for line in lines if len(line) == 4 and line[0] == "benchmarks"]
    missing = [package for kind, subject, package in needs if not is_there(kind, subject)]
    if missing:
        end(f"not installed: {', '.join(missing)}; run “apt-get install {' '.join(missing)}” as root")


def is_there(kind, subject):
    if kind == "command":
        return shutil.which(subject)
    if kind == "file":
        return os.path.exists(subject)
    include = pathlib.Path("/usr/include")
    return (include / subject).exists() or any(include.glob(f"*/{subject}"))


def check_built(user):
    """Ends the program unless the release binaries exist and this user may run them."""
    for program in (STATUSD, STATUSCTL):
        if not os.access(program, os.X_OK):
            end(f"{user} cannot run {program}; run packaging/build, in a clone whose folders every user may enter")


def end(reason):
    print(f"benchmarks: {reason}", file=sys.stderr)
    raise SystemExit(UNAVAILABLE)
