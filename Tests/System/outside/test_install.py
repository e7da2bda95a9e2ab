# SPDX-License-Identifier: Apache-2.0
"""packaging/install into a folder, as packages are made. (Into a running system: see inside/test_unit.py.)"""

import os
import pathlib
import tempfile

from harness.daemon import environment, run
from harness.expect import Skip, contains, equal
from harness.runner import test

PROJECT = pathlib.Path(__file__).resolve().parents[3]
INSTALL = PROJECT / "packaging" / "install"
FILES = ["usr/bin/statusctl", "usr/bin/statusd", "usr/lib/systemd/system/statusd.service",
         "usr/lib/systemd/system/statusd.socket", "usr/lib/sysusers.d/statusd.conf"]


def installed(folder):
    """The files under a folder, in order."""
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


@test("install with DESTDIR puts its files there and nowhere else, and --uninstall removes them again")
def into_a_folder():
    if not (PROJECT / ".build/release/statusctl").exists():
        raise Skip("there is no release build")
    with tempfile.TemporaryDirectory() as folder:
        into = environment(DESTDIR=folder)
        result = run(INSTALL, "--no-build", env=into)
        equal((result.status, result.err), (0, ""))
        equal(installed(folder), sorted(FILES))
        assert os.access(f"{folder}/usr/bin/statusd", os.X_OK)
        contains(result.out, f"{folder}/usr/bin/statusd")
        equal(run(INSTALL, "--uninstall", env=into).status, 0)
        equal(installed(folder), [])


@test("install says what is wrong with its arguments")
def arguments():
    result = run(INSTALL, "--nonsense")
    equal(result.status, 64)
    contains(result.err, "--nonsense")
