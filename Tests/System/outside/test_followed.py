# SPDX-License-Identifier: Apache-2.0
"""Servers of other hosts, as statusd-mqtt reports them."""

import json

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test
from harness.varlink import VarlinkError

from .test_alerts import configuration, texts

CONFIGURATION = """\
mqtt: { broker: mqtt://127.0.0.1, publish: false, follow: ["*"] }
servers:
  local: { push: true }
"""


def server(name, text="up", level="ok", revision=1, **members):
    """The state of a server on its host."""
    time = "2026-11-30T00:00:00.000Z"
    status = {"text": text, "level": level, "changedAt": time, "levelChangedAt": time, "updatedAt": time}
    return {"name": name, "description": None, "source": "unit", "phase": "loaded", "status": status, "message": None,
            "stale": False, "refreshable": True, "refreshing": False, "selected": True, "revision": revision, **members}


def report_host(connection, state="ready", epoch=1, host="web1", **parameters):
    connection.call("ReportHost", {"host": host, "state": state, "epoch": epoch, "machine": "m1", "clockDifference": 0, **parameters})


def report(connection, name, *status, epoch=1, host="web1", **members):
    connection.call("ReportServer", {"host": host, "name": name, "epoch": epoch, "server": server(name, *status, **members)})


@test("a server of another host is a server for select, status, watch, wait, list and history, and cannot be refreshed or posted")
def followed():
    with Daemon(CONFIGURATION) as daemon, daemon.connect() as reporter:
        report_host(reporter, version="0.1.0", clockDifference=7_200_000)
        report(reporter, "db", "slow", "warning")
        daemon.done("select", "db@web1")
        contains(daemon.ctl("status").out, "db@web1", "slow")
        contains(daemon.done("list"), "db@web1", "slow", "web1", "ready")
        contains(one_sentence(daemon.ctl("refresh", "db@web1"), 5), "db@web1")
        contains(one_sentence(daemon.ctl("post", "db@web1", "mine"), 1), "the status of db@web1 comes from mqtt")
        for name in ("db@web1", "web1"):
            contains(one_sentence(daemon.ctl("forget", name), 1), f"cannot forget {name}", "statusd-mqtt --remove web1")
        with daemon.connect() as connection:
            events = connection.watch(server="db@web1")
            next(events)
            report(reporter, "db", "up", "ok", 2)
            equal(next(events)["server"]["status"]["text"], "up")
        equal(daemon.ctl("wait", "db@web1", "--level", "ok", "--timeout", "5").status, 0)
        eventually(lambda: "slow" in daemon.done("history", "db@web1"), "the history has what it was")
        hosts = daemon.done("hosts")
        contains(hosts, "web1", "ready", "2h ahead", "0.1.0")
        report_host(reporter, "lost")
        contains(daemon.ctl("status", "db@web1").out, "up", "stale")
        contains(daemon.done("hosts"), "lost")
        report_host(reporter, epoch=2)
        report_host(reporter, "stopped", epoch=2)
        contains(daemon.done("list"), "stopped: statusd or statusd-mqtt does not run there")
        report_host(reporter, "lost", epoch=3)
        equal([(host["name"], host["state"], host["servers"], host["worst"])
               for host in json.loads(daemon.done("hosts", "--json"))["hosts"]], [("web1", "lost", 1, "unknown")])


@test("a configured server of the same name wins, before and after a report")
def names():
    with Daemon(CONFIGURATION) as daemon, daemon.connect() as reporter:
        report_host(reporter)
        report(reporter, "db")
        daemon.file.write_text(CONFIGURATION + "  db@web1: { push: true }\n  web1: { push: true }\n")
        daemon.done("reload")
        daemon.done("post", "db@web1", "mine")
        try:
            report(reporter, "db", "theirs", "ok", 2)
            raise AssertionError("a report replaced a configured server")
        except VarlinkError as error:
            contains(error.parameters["reason"], "db@web1 is a server of this host")
        report_host(reporter)
        contains(daemon.ctl("status", "db@web1").out, "mine")
        contains(daemon.ctl("status", "web1").out, "no status yet")
        daemon.file.write_text(CONFIGURATION)
        daemon.done("reload")
        report_host(reporter)
        report(reporter, "db", "theirs", "ok", 3)
        contains(daemon.done("list"), "theirs", "ready")


@test("servers of other hosts come back after a restart, and leave when none are followed any more")
def restart():
    with Daemon(CONFIGURATION) as daemon:
        with daemon.connect() as reporter:
            report_host(reporter)
            report(reporter, "db", "slow", "warning")
            report(reporter, "mail")
        daemon.done("select", "db@web1")
        daemon.done("silence", "db@web1", "--for", "1h")
        daemon.stop()
        daemon.start()
        contains(daemon.done("list"), "db@web1", "slow", "mail@web1", "local")
        with daemon.connect() as reporter, daemon.connect() as connection:
            events = connection.watch(all=True)
            next(events)
            report_host(reporter, epoch=2)
            report(reporter, "db", "slow", "warning", epoch=2)
            seen = [next(events)["server"] for _ in range(2)]
            equal([(server["name"], server["stale"], server.get("restored"), "silence" in server) for server in seen],
                  [("web1", False, None, False), ("db@web1", False, None, True)])
            equal([reporter.call("EndReport")["removed"] for _ in range(2)], [[], ["mail@web1"]])
        with daemon.connect() as connection:
            settings = connection.more("GetMQTT")
            equal(next(settings)["mqtt"]["follow"], ["*"])
            daemon.file.write_text("servers: { local: { push: true } }\n")
            contains(daemon.done("reload"), "db@web1")
            equal(next(settings).get("mqtt"), None)
        equal([server["name"] for server in json.loads(daemon.done("list", "--json"))["servers"]], ["local"])


@test("when a host is lost, one alert says so; those of its servers are held, and come if they are still due when it is back")
def alerts():
    def text(folder):
        return configuration("")(folder) + CONFIGURATION.split("servers:")[0]
    with Daemon(text) as daemon, daemon.connect() as reporter:
        report_host(reporter)
        for name in ("db", "mail"):
            report(reporter, name)
        report_host(reporter, "lost")
        eventually(lambda: texts(daemon.folder) == ["web1 critical"], "told of the host")
        equal(json.loads(daemon.done("alerts", "--json"))["receivers"][0]["untold"],
              [{"server": f"{name}@web1", "level": "unknown", "hold": "parent", "parent": "web1"} for name in ("db", "mail")])
        report(reporter, "db", "down", "critical", 2, epoch=2)
        report(reporter, "mail", "up", "ok", 2, epoch=2)
        report_host(reporter, epoch=2)
        eventually(lambda: sorted(texts(daemon.folder)) == ["db@web1 critical", "web1 critical", "web1 ok"], "told of what is left")


@test("a difference of clocks that is no time does not end the daemon")
def extreme_clocks():
    with Daemon(CONFIGURATION) as daemon, daemon.connect() as reporter:
        for number, difference in enumerate((2**63 - 1, -2**63)):
            report_host(reporter, host=f"web{number}", clockDifference=difference)
        equal([host["name"] for host in reporter.call("Hosts")["hosts"]], ["web0", "web1"])
        contains(daemon.done("hosts"), "web0", "ahead", "web1", "behind")
