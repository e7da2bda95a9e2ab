# SPDX-License-Identifier: Apache-2.0
"""Tests under a real systemd as PID 1, in a container that packaging/with-systemd throws away afterwards."""

import os
import sys

from .unit import install


def prepare():
    """Installs statusd once for all tests, as a user would."""
    if os.getuid() != 0 or not os.path.isdir("/run/systemd/system") or os.environ.get("container") != "systemd-nspawn":
        sys.exit("Tests/System/run inside changes the system it runs on: start it with packaging/with-systemd")
    install()
