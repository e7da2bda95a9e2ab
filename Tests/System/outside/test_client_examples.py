# SPDX-License-Identifier: Apache-2.0
"""The example clients in packaging/examples, in Python and in shell. (With varlinkctl: see inside/test_varlinkctl.py.)"""

import os
import pathlib
import shutil
import signal

from harness.daemon import BINARIES, Daemon, Follower, environment
from harness.expect import Skip, equal
from harness.runner import test

from .test_foreign_clients import python

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "packaging" / "examples"


def follows(*command):
    """The example lists the servers and shows each change of the selected one, and of the next one that is selected."""
    with Daemon() as daemon:
        daemon.done("post", "db", "Signed In")
        daemon.done("post", "web", "up", "--level", "warning")
        daemon.done("select", "db")
        variables = environment(STATUSD_ADDRESS=f"unix:{daemon.socket}", PATH=f"{BINARIES}:{os.environ['PATH']}")
        with Follower(*(part.replace("ADDRESS", f"unix:{daemon.socket}") for part in command), env=variables, start_new_session=True) as client:
            equal([client.next() for _ in range(3)], ["known: db", "known: web", "db ok Signed In"])
            daemon.done("post", "db", "Signed Out", "--level", "critical")
            daemon.done("post", "web", "down")
            daemon.done("select", "web")
            equal([client.next(), client.next()], ["db critical Signed Out", "web ok down"])
            # A shell's pipeline does not end with the shell.
            os.killpg(client.process.pid, signal.SIGTERM)


@test("the example in Python follows the selected server")
def in_python():
    follows(python(), str(EXAMPLES / "client.py"), "ADDRESS")


@test("the example in shell follows the selected server")
def in_shell():
    if not shutil.which("jq"):
        raise Skip("there is no jq; packaging/setup --test installs it")
    follows("sh", str(EXAMPLES / "client.sh"))
