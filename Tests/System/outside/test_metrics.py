# SPDX-License-Identifier: Apache-2.0
"""io.systemd.Metrics, which systemd-report reads from systemd 260 on."""

from harness.daemon import Daemon
from harness.expect import equal
from harness.runner import test

PREFIX = "org.statusd.monitor."


def metrics(daemon):
    """The replies to List, each with `name` and `value`, and `object` or `fields`."""
    with daemon.connect() as connection:
        return list(connection.more("io.systemd.Metrics.List"))


@test("metrics are the level of each server, the selected one first, and the number of servers with each level")
def levels():
    with Daemon() as daemon:
        for name, level in (("a", "ok"), ("b", "critical"), ("c", "warning")):
            daemon.done("post", name, "text", "--level", level)
        daemon.done("select", "c")
        equal(metrics(daemon), [
            *({"name": PREFIX + "ServerLevel", "value": level, "object": name} for name, level in (("c", "warning"), ("a", "ok"), ("b", "critical"))),
            *({"name": PREFIX + "Servers", "value": count, "fields": {"level": level}}
              for level, count in (("ok", 1), ("warning", 1), ("critical", 1), ("unknown", 0), ("none", 0)))])
        with daemon.connect() as connection:
            described = list(connection.more("io.systemd.Metrics.Describe"))
        equal([(family["name"], family["type"]) for family in described], [(PREFIX + "ServerLevel", "string"), (PREFIX + "ServerValue", "gauge"), (PREFIX + "Servers", "gauge")])


@test("the numbers that a check measured are metrics of its server, and a status keeps them over a restart")
def values():
    with Daemon(lambda folder: "servers:\n  disk:\n    exec:\n      - /bin/sh\n      - -c\n"
                f"      - \"[ -e {folder}/hang ] && exec sleep 60; echo 'DISK OK | used=71.5%;85;95 free=28GB'\"\n") as daemon:
        daemon.done("wait", "disk", "--text", "DISK OK", "--timeout", "15s")
        wanted = [{"name": "used", "value": 71.5, "unit": "%", "warning": 85, "critical": 95}, {"name": "free", "value": 28, "unit": "GB"}]
        equal(daemon.describe("disk")["values"], wanted)
        equal([metric for metric in metrics(daemon) if metric["name"] == PREFIX + "ServerValue"],
              [{"name": PREFIX + "ServerValue", "value": value["value"], "object": "disk", "fields": {"value": value["name"], "unit": value["unit"]}}
               for value in wanted])
        (daemon.folder / "hang").touch()
        daemon.stop()
        daemon.start()
        state = daemon.describe("disk")
        equal((state["restored"], state["values"]), (True, wanted))


@test("a daemon without servers has metrics, too, and one with many has at most 1024, which count them all")
def bounds():
    with Daemon() as daemon:
        equal([metric["value"] for metric in metrics(daemon)], [0, 0, 0, 0, 0])
        with daemon.connect() as connection:
            for number in range(1500):
                connection.send("org.statusd.monitor.Post", {"server": f"s{number}", "text": "text"}, oneway=True)
            connection.call("org.statusd.monitor.GetCursor")
        daemon.done("select", "s1499")
        found = metrics(daemon)
        equal((len(found), found[0]["object"], found[1019]["value"]), (1024, "s1499", 1500))
        equal(len({metric.get("object") for metric in found}), 1020)


@test("without more, the metrics' methods answer that they need it")
def more():
    with Daemon() as daemon, daemon.connect() as connection:
        for method in ("List", "Describe"):
            connection.send(f"io.systemd.Metrics.{method}")
            equal(connection.receive()["error"], "org.varlink.service.ExpectedMore")
