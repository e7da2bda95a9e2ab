# SPDX-License-Identifier: Apache-2.0
"""Tests/Examples: a package that uses the libraries like any other, without the daemon's own dependencies.

`packaging/test release` builds it."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile

from harness.daemon import BINARIES, Follower, environment
from harness.expect import contains, equal, eventually
from harness.manager import FakeServiceManager
from harness.runner import test
from harness.servers import serving
from harness.varlink import Connection, VarlinkError

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "Tests" / "Examples"
EXAMPLES = ROOT / ".build" / "examples" / "debug"


def refusal(client, parameters):
    """The error reply to a ping with these parameters."""
    try:
        return client.call("org.example.ping.Ping", parameters)
    except VarlinkError as error:
        return error.name, error.parameters


@test("a service of 30 lines answers calls, with the errors of its description and of Varlink")
def ping():
    with serving(EXAMPLES / "Ping", "unix:{}") as path, Connection(path) as client:
        equal(client.call("org.example.ping.Ping", {"ping": "hello"}), {"pong": "hello"})
        equal(refusal(client, {"ping": ""}), ("org.example.ping.NothingToAnswer", {}))
        equal(refusal(client, {"pin": ""}), ("org.varlink.service.InvalidParameter", {"parameter": "pin"}))


ARTICLES = {"NotificationStreams": ["Sources/SelectedServer"], "SystemdClient": ["Sources/UnitState", "Sources/LastWords"],
            "SystemdServiceLifecycle": ["Service"], "Varlink": ["Sources/Ping"]}


def shown(library, article=None):
    """The code in an article about a library."""
    text = (ROOT / "Sources" / library / f"{library}.docc" / f"{article or library}.md").read_text()
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@test("the documentation of each library shows exactly the files of an example that is tested here")
def documentation():
    for library, examples in ARTICLES.items():
        code = shown(library)
        for file in sorted(file for example in examples for file in (PACKAGE / example).iterdir()):
            equal(file.read_text() in code, True, f"{file} is not in {library}.md as it is")
    # The manifest also has the other examples.
    def lines(text):
        return {line.rstrip(",") for line in text.splitlines()}

    manifest = next(text for text in shown("Varlink") if text.startswith("// swift-tools-version"))
    equal(lines(manifest) - lines((PACKAGE / "Package.swift").read_text()), set())


@test("the documentation has every option for generated code")
def options():
    source = (ROOT / "Sources" / "VarlinkGeneration" / "GenerationOptions.swift").read_text()
    comment = re.search(r"^/// ```\n(.*?)^/// ```$", source, re.DOTALL | re.MULTILINE)[1]
    equal(shown("Varlink", "GeneratedCode"), ["".join(line[4:] for line in comment.splitlines(keepends=True))])
    accepted = set(re.findall(r'case \("(\w+)", ', source))
    equal({line.split()[0] for line in comment.replace("/// ", "").splitlines()}, accepted)


@test("the package offers only the libraries that are documented, and the Swift Package Index shows them")
def products():
    offered = re.findall(r'\.library\(name: "(\w+)"', (ROOT / "Package.swift").read_text())
    equal(sorted(offered), sorted([*ARTICLES, "NotificationStreamsFoundation"]))
    listed = re.search(r"documentation_targets: \[(.*)\]", (ROOT / ".spi.yml").read_text())[1].split(", ")
    # The index builds without traits.
    equal(sorted(listed), sorted(set(offered) - {"SystemdServiceLifecycle"}))


@test("two interfaces in one module that is isolated to the main actor work next to the names of SwiftNIO")
def tickets():
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([EXAMPLES / "Tickets", f"unix:{folder}/socket"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=environment(), timeout=30)
    equal((run.returncode, run.stdout), (0, "ticket 1, note 1\nclosed\nthe service closed the connection\n"))
    contains(run.stderr, "method=org.example.notes.Add", "cannot answer a call: IOError(errnoCode: 22)")


@test("a package that uses the libraries resolves no dependency that only the daemon needs")
def dependencies():
    resolved = (PACKAGE / "Package.resolved").read_text()
    equal("swift-service-lifecycle" in resolved, False, resolved)


@test("a program shows the selected server only, and loads each server's first status once")
def selected_server():
    with subprocess.Popen([EXAMPLES / "SelectedServer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=environment()) as program:
        def tell(*commands):
            program.stdin.write("".join(f"{command}\n" for command in commands))
            program.stdin.flush()

        def shown(count):
            return [program.stdout.readline().rstrip("\n") for _ in range(count)]

        tell("select db")
        equal(shown(2), ["db loads", "db: idle"])
        tell("post web hidden", "post db busy", "select db", "post db done")
        equal(shown(2), ["db: busy", "db: done"])
        tell("select web")
        equal(shown(2), ["web loads", "web: idle"])
        tell("post db hidden", "post web busy")
        equal(shown(1), ["web: busy"])
        tell("select db")
        equal(shown(1), ["db: idle"])
        program.stdin.close()
        equal((program.stdout.read(), program.wait(15)), ("", 0))


@test("the last message before a program's end is written, every time")
def last_words():
    for _ in range(20):
        run = subprocess.run([EXAMPLES / "LastWords"], stderr=subprocess.PIPE, text=True, env=environment(), timeout=30)
        equal((run.returncode, run.stderr), (0, "example: critical: last words reason=none\\nat all\n"))


@test("a program whose last message nobody reads still ends")
def unread():
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writing, True)
        equal(subprocess.run([EXAMPLES / "LastWords"], stderr=writing, env=environment(), timeout=30).returncode, 0)
    finally:
        os.close(reading)
        os.close(writing)


@test("a program that follows a unit says why it cannot, continues, and ends when it is interrupted")
def unit_state():
    with Follower(EXAMPLES / "UnitState", "db.service",
                  env=environment(DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nonexistent")) as program:
        equal(program.next(), "unknown: cannot reach the system bus: No such file or directory")
        equal((program.end(), program.next(), program.errors), (-signal.SIGINT, None, []))


@test("a service tells the service manager when it is up, alive, reloads and stops")
def service():
    with tempfile.TemporaryDirectory() as folder:
        manager = FakeServiceManager(os.path.join(folder, "notify"))
        with Follower(BINARIES / "service-example",
                      env=environment(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC=20_000)) as program:
            manager.wait_for("READY=1")
            manager.wait_for("WATCHDOG=1")
            program.process.send_signal(signal.SIGHUP)
            eventually(lambda: manager.lines().count("READY=1") == 2, "READY=1 after the reload")
            equal(program.end(signal.SIGTERM), 0)
            told = [message for message in manager.messages() if message != ["WATCHDOG=1"]]
            equal([message[0] for message in told], ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"])
            contains(told[1][1], "MONOTONIC_USEC=")
        manager.close()
