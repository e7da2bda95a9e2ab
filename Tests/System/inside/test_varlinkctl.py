# SPDX-License-Identifier: Apache-2.0
"""systemd's own Varlink client, available since 257, against the service."""

import json
import os
import shutil
import signal
import tempfile

from harness.daemon import Follower, environment, run
from harness.expect import contains, equal
from harness.runner import test

from .unit import PROJECT, SOCKET, done, service, statusctl

THERE = shutil.which("varlinkctl") is not None
DESCRIPTION = PROJECT / "Sources/StatusInterface/org.statusd.monitor.varlink"


@test("varlinkctl: info and introspect name the product and the interface", when=THERE)
def info():
    with service():
        contains(done("varlinkctl", "info", SOCKET), "statusd", "org.varlink.service", "org.statusd.monitor")
        contains(done("varlinkctl", "introspect", SOCKET, "org.statusd.monitor"), "interface org.statusd.monitor",
                 "method Select", "error NoSuchServer")


@test("varlinkctl: the interface description is valid", when=THERE)
def validate():
    result = run("varlinkctl", "validate-idl", DESCRIPTION)
    equal(result.status, 0, result.err)


@test("varlinkctl: call posts, selects and describes; an error has its name and a status other than 0", when=THERE)
def call():
    with service():
        def method(name, parameters):
            return json.loads(done("varlinkctl", "--json=short", "call", SOCKET, f"org.statusd.monitor.{name}",
                                   json.dumps(parameters)))

        assert method("Post", {"server": "db", "text": "Signed In"})["revision"] > 0
        equal(method("Select", {"server": "db"})["changed"], True)
        equal(method("Describe", {})["server"]["status"]["text"], "Signed In")
        result = run("varlinkctl", "call", SOCKET, "org.statusd.monitor.Describe", '{"server": "nosuch"}')
        assert result.status != 0, result
        contains(result.err, "org.statusd.monitor.NoSuchServer")
        result = run("varlinkctl", "call", SOCKET, "org.statusd.monitor.Watch", "{}")
        contains(result.err, "ExpectedMore")


@test("varlinkctl: call --more follows a server", when=THERE)
def more():
    with service():
        statusctl("post", "db", "Signed In")
        with Follower("varlinkctl", "--more", "--json=short", "call", SOCKET, "org.statusd.monitor.Watch",
                      '{"server": "db"}', env=environment()) as lines:
            lines.until("Signed In")
            statusctl("post", "db", "Signed Out")
            lines.until("Signed Out")


@test("varlinkctl: the metrics' interface is valid, and systemd-report finds its socket", when=THERE)
def metrics():
    report = "/run/systemd/report/org.statusd.monitor"
    with service():
        statusctl("post", "db", "Signed In")
        statusctl("select", "db")
        lines = done("varlinkctl", "--more", "--json=short", "call", report, "io.systemd.Metrics.List", "{}").split("\n")
        equal(json.loads(lines[0].lstrip("\x1e")), {"name": "org.statusd.monitor.ServerLevel", "value": "ok", "object": "db"})
        description = done("varlinkctl", "introspect", report, "io.systemd.Metrics")
        with tempfile.NamedTemporaryFile("w", suffix=".varlink") as file:
            # The type any is younger than systemd 257.
            file.write(description.replace("any", "object"))
            file.flush()
            equal(run("varlinkctl", "validate-idl", file.name).status, 0, description)


@test("varlinkctl: the example client follows the selected server", when=THERE and shutil.which("jq") is not None)
def example():
    with service():
        statusctl("post", "db", "Signed In")
        statusctl("post", "web", "up", "--level", "warning")
        statusctl("select", "db")
        with Follower("sh", PROJECT / "packaging/examples/client-varlinkctl.sh", env=environment(), start_new_session=True) as client:
            equal([client.next() for _ in range(3)], ["known: db", "known: web", "db ok Signed In"])
            statusctl("post", "db", "Signed Out", "--level", "critical")
            statusctl("select", "web")
            equal([client.next(), client.next()], ["db critical Signed Out", "web warning up"])
            os.killpg(client.process.pid, signal.SIGTERM)
