# SPDX-License-Identifier: Apache-2.0
"""ping: hosts that answer, lose, delay, forge and refuse echo requests."""

import os
import re
import tempfile

from harness.daemon import STATUSCTL, Daemon, environment, run
from harness.echo import WAYS, in_network
from harness.expect import Skip, contains, equal, eventually
from harness.runner import test


def needs_root():
    if os.getuid() != 0:
        raise Skip("needs root, for a network of its own")


def addresses(way):
    """The addresses of the hosts that answer this way."""
    return {f"{way}4": f"127.0.0.{WAYS[way]}", f"{way}6": f"fd00::{WAYS[way]:x}"}


def once(servers, timeout="1s"):
    lines = [f"  {key}: {{ ping: {settings} }}\n" for key, settings in servers.items()]
    return f"defaults: {{ interval: 1h, timeout: {timeout} }}\nservers:\n" + "".join(lines)


def expect(daemon, server, level, pattern):
    daemon.done("wait", server, "--level", level, "--timeout", "15s")
    text = daemon.text(server)
    assert re.fullmatch(pattern, text), f"{server}: {text!r} is not {pattern!r}"


def values(daemon, server):
    return {value["name"]: value["value"] for value in daemon.describe(server)["values"]}


EXPECTED = {
    "well": ("ok", r"0% of 3 lost, [0-9.]+ ms"), "silent": ("critical", "no answer to 3 pings within 1s"),
    "lossy": ("warning", r"33% of 3 lost, [0-9.]+ ms"), "slow": ("ok", r"0% of 3 lost, [0-9.]+ (ms|s)"),
    "twice": ("warning", r"67% of 3 lost, [0-9.]+ ms"), "forged": ("critical", "no answer to 3 pings within 1s"),
    "elsewhere": ("critical", "no answer to 3 pings within 1s"), "unreachable": ("critical", "no route to host"),
    "foreign": ("critical", "no answer to 3 pings within 1s"), "one": ("warning", r"67% of 3 lost, [0-9.]+ ms"),
    "slandered": ("ok", r"0% of 3 lost, [0-9.]+ ms"),
}


@test("ping: lost requests are counted; answers that are repeated, forged, or of another host or process do not count, nor do reports of others before an answer, over IPv4 and IPv6")
def ways():
    needs_root()
    servers = {key: f"'{address}'" for way in EXPECTED for key, address in addresses(way).items()}
    with Daemon(once(servers), prefix=in_network()) as daemon:
        for server in servers:
            expect(daemon, server, *EXPECTED[server[:-1]])
            loss = {"ok": [0], "warning": [100 / 3, 200 / 3], "critical": [100]}[EXPECTED[server[:-1]][0]]
            assert any(abs(values(daemon, server)["loss"] - part) < 0.01 for part in loss), values(daemon, server)
        for server in ("slow4", "slow6"):
            assert values(daemon, server)["time"] >= 0.15, values(daemon, server)


@test("ping: the number of requests, the loss and the time that are a warning can be set")
def settings():
    needs_root()
    servers = {
        "tolerant": "{ host: 127.0.0.3, loss: 34% }", "strict": "{ host: 127.0.0.3, count: 20, loss: 5% }",
        "lenient": "{ host: 127.0.0.3, count: 20, loss: 5.1% }", "slow": "{ host: 127.0.0.4, slow: 100ms }",
        "fast": "{ host: 127.0.0.4, slow: 30s }", "single": "{ host: 127.0.0.2, count: 1 }",
    }
    with Daemon(once(servers, timeout="2s"), prefix=in_network()) as daemon:
        expect(daemon, "tolerant", "ok", r"33% of 3 lost, [0-9.]+ ms")
        expect(daemon, "strict", "warning", r"5% of 20 lost, [0-9.]+ ms")
        expect(daemon, "lenient", "ok", r"5% of 20 lost, [0-9.]+ ms")
        expect(daemon, "slow", "warning", r"0% of 3 lost, [0-9.]+ (ms|s) \(slow\)")
        expect(daemon, "fast", "ok", r"0% of 3 lost, [0-9.]+ (ms|s)")
        expect(daemon, "single", "critical", "no answer to 1 ping within 2s")


@test("ping: the next address of a name is tried if this host has no route to one; without any route, or a host, it is critical at once")
def names():
    needs_root()
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write("2001:db8::1 both.test\n127.0.0.1 both.test\n192.0.2.1 four.test\n127.0.0.1 four.test\n192.0.2.1 far.test\n")
        hosts.flush()
        servers = {"both": "both.test", "four": "four.test", "far": "far.test", "far6": "'2001:db8::1'", "none": "no-such-host.invalid",
                   "zone": "'[fe80::1%nowhere]'"}
        with Daemon(once(servers, timeout="10s"), prefix=in_network("mount", "--bind", hosts.name, "/etc/hosts")) as daemon:
            for server in ("both", "four"):
                expect(daemon, server, "ok", r"0% of 3 lost, [0-9.]+ ms")
            for server in ("far", "far6"):
                expect(daemon, server, "critical", "network is unreachable")
            expect(daemon, "none", "critical", ".*no-such-host.invalid.*")
            expect(daemon, "zone", "critical", ".*fe80::1%nowhere.*")


@test("ping: a daemon that may not ping says how to allow it, for IPv4 and IPv6, and so does verify; the status stays")
def refused():
    needs_root()
    advice = "may not ping: allow it with sysctl net.ipv4.ping_group_range=\"0 2147483647\""
    servers = {"four": "127.0.0.1", "six": "'fd00::1'", "far": "192.0.2.1"}
    with Daemon(once(servers), prefix=in_network(group_range="1 0")) as daemon:
        for server in servers:
            eventually(lambda server=server: daemon.describe(server)["phase"] == "failed", "a failed server")
            equal(daemon.describe(server)["message"], advice)
        for group_range, expected in (("1 0", 1), ("0 0", 0)):
            found = run(*in_network(group_range=group_range), STATUSCTL, "verify", daemon.file, env=environment())
            equal(found.status, 0)
            equal(len(found.err.splitlines()), expected, found.err)
            if expected:
                contains(found.err, f":5: far, four, six cannot be checked: the daemon {advice}")
