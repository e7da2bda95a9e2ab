# SPDX-License-Identifier: Apache-2.0
"""statusd-web, and the metrics, of a hub with too many servers for a page."""

import json

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.site import Events, Site

from .test_followed import CONFIGURATION, server

HOSTS, SERVERS = 250, 8


def report(connection, host, name, level, revision):
    connection.send("ReportServer", {"host": host, "name": name, "epoch": 1, "server": server(name, f"{level} {revision}", level, revision)})


def fill(daemon):
    """Reports 250 hosts with eight servers each, of which one is critical."""
    with daemon.connect() as connection:
        for number in range(HOSTS):
            host = f"web{number}"
            connection.send("ReportHost", {"host": host, "state": "ready", "epoch": 1, "machine": host})
            for index in range(SERVERS):
                report(connection, host, f"s{index}", "critical" if (number, index) == (7, 3) else "ok", 1)
            for _ in range(SERVERS + 1):
                assert "error" not in connection.receive()


@test("web: of a hub, only its own servers, the hosts and what is not ok elsewhere are sent; all are counted, and can be asked for")
def hub():
    with Daemon(CONFIGURATION) as daemon, Site(daemon) as site:
        fill(daemon)
        count = HOSTS * (SERVERS + 1) + 1
        eventually(lambda: f'statusd_servers{{level="ok"}} {count - 2}' in site.get("/metrics")[1], "all have arrived")
        equal(site.get("/api/list")[0], 413)
        with Events(site) as stream:
            snapshot = stream.next("snapshot")
            names = {server["name"] for server in snapshot["servers"]}
            equal((len(names), names - {f"web{number}" for number in range(HOSTS)}), (HOSTS + 2, {"local", "s3@web7"}))
            counts = stream.next("counts")
            equal((counts["counts"], counts["more"]), ({"ok": count - 2, "warning": 0, "unknown": 0, "critical": 1, "none": 1}, 0))
            with daemon.connect() as connection:
                report(connection, "web9", "s1", "warning", 2)
                equal(stream.next("changed")["server"]["name"], "s1@web9")
                report(connection, "web9", "s1", "ok", 3)
                change = stream.next("changed")
                equal((change["server"]["status"]["level"], change["hidden"]), ("ok", ["s1@web9"]))
                report(connection, "web9", "s2", "ok", 4)
                # There may be others, of which the last changes were just before.
                while "web9" not in stream.next("counts")["hosts"]:
                    pass
        with Events(site, f"/events?since={stream.last}") as again:
            equal(again.next()["kind"], "counts")
        site.stop()
        site.start()
        with Events(site, f"/events?since={stream.last}") as again:
            equal([again.next()["kind"] for _ in range(3)], ["gap", "snapshot", "counts"])
        found = site.json("/api/list?host=web9")["servers"]
        equal([server["name"] for server in found], [f"s{index}@web9" for index in range(SERVERS)] + ["web9"])
        equal(site.json("/api/list?host=nosuch"), {"servers": []})
        equal(site.get("/api/list?host=a%20b")[0], 400)
        contains(site.get("/badge/s1@web9.svg")[1], "s1@web9: ok")
        metrics = site.get("/metrics")[1]
        contains(metrics, 'statusd_host_up{host="web9"} 1', 'statusd_host_servers{host="web9"} 8', f'statusd_servers{{level="ok"}} {count - 2}')
        assert "s1@web9" not in metrics, "the metrics of a hub have the servers of other hosts"
        own = daemon.done("metrics")
        equal([line for line in metrics.splitlines() if "web9" in line], [line for line in own.splitlines() if "web9" in line])
        equal(len(json.loads(daemon.done("list", "--json"))["servers"]), count)
