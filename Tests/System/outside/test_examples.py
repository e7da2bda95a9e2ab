# SPDX-License-Identifier: Apache-2.0
"""Tests/Examples: a package that uses the libraries as any other would, without what only the daemon needs."""

import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

from harness.daemon import environment, run
from harness.expect import equal, eventually
from harness.runner import test
from harness.varlink import Connection, VarlinkError

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "Tests" / "Examples"
SCRATCH = ROOT / ".build" / "examples"


@contextlib.contextmanager
def example(name):
    """Runs an example on a socket in a directory of its own, and stops it."""
    build = run("swift", "build", "--package-path", PACKAGE, "--scratch-path", SCRATCH, timeout=600, env=os.environ)
    equal(build.status, 0, build.out + build.err)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        program = subprocess.Popen([SCRATCH / "debug" / name, f"unix:{path}"], env=environment())
        try:
            eventually(lambda: os.path.exists(path))
            yield path
        finally:
            program.kill()
            program.wait()


def refusal(client, parameters):
    """The error that a ping with these parameters is answered with."""
    try:
        return client.call("org.example.ping.Ping", parameters)
    except VarlinkError as error:
        return error.name, error.parameters


@test("a service of 30 lines answers calls, with the errors of its description and of Varlink")
def ping():
    with example("Ping") as path, Connection(path) as client:
        equal(client.call("org.example.ping.Ping", {"ping": "hello"}), {"pong": "hello"})
        equal(refusal(client, {"ping": ""}), ("org.example.ping.NothingToAnswer", {}))
        equal(refusal(client, {"pin": ""}), ("org.varlink.service.InvalidParameter", {"parameter": "pin"}))


@test("the documentation of Varlink shows exactly the files of the service that is tested here")
def documentation():
    article = (ROOT / "Sources" / "Varlink" / "Varlink.docc" / "Varlink.md").read_text()
    shown = re.findall(r"^```\w*\n(.*?)^```$", article, re.DOTALL | re.MULTILINE)
    sources = PACKAGE / "Sources" / "Ping"
    for file in [*sorted(sources.iterdir()), PACKAGE / "Package.swift"]:
        equal(file.read_text() in shown, True, f"{file} is not in Varlink.md as it is")


@test("whoever uses the libraries resolves nothing that only the daemon needs")
def dependencies():
    with example("Ping"):
        resolved = (PACKAGE / "Package.resolved").read_text()
        equal("swift-service-lifecycle" in resolved, False, resolved)
