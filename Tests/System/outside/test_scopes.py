# SPDX-License-Identifier: Apache-2.0
"""Lists and streams of some of all servers: of one host, or with a level."""

import json

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test
from harness.varlink import VarlinkError

SERVERS = {"db@web1": "ok", "mail@web1": "warning", "web1": "ok", "db@web2": "critical", "db@oldweb1": "warning", "web1@x": "ok"}


def names(servers):
    return [server["name"] for server in servers]


@test("the daemon lists the servers of a host, those with a level, and those with both")
def lists():
    with Daemon() as daemon, daemon.connect() as connection:
        for name, level in SERVERS.items():
            daemon.done("post", name, "text", "--level", level)

        def listed(**parameters):
            found = names(connection.call("List", parameters)["servers"])
            options = [f"--{'of' if key == 'host' else key}={value}" for key, value in parameters.items() if value]
            equal(names(json.loads(daemon.done("list", "--json", *options))["servers"]), found, options)
            return found

        equal(listed(host=None, level=None), sorted(SERVERS))
        equal(listed(host="web1"), ["db@web1", "mail@web1", "web1"])
        equal(listed(level="warning"), ["db@oldweb1", "db@web2", "mail@web1"])
        equal(listed(host="web1", level="warning"), ["mail@web1"])
        equal(listed(host="web3"), [])
        contains(daemon.ctl("list", "--of", "web3").err, "no server matches")
        contains(daemon.ctl("list", "--of", "web 3").err, "must be the name of one host")
        for parameters in ({"host": "web1"}, {"level": "ok"}, {"server": "web1", "host": "web1"}):
            try:
                next(connection.more("Watch", parameters))
                raise AssertionError(f"{parameters} without “all” are no error")
            except VarlinkError as error:
                equal(error.name, "org.varlink.service.InvalidParameter")


@test("a stream of a level shows a server from when it has the level until it has it no more, and continues behind a cursor")
def levels():
    with Daemon() as daemon, daemon.connect() as connection, daemon.connect() as later:
        for name, level in SERVERS.items():
            daemon.done("post", name, "text", "--level", level)
        events = connection.watch(all=True, host="web1", level="warning")
        first = next(events)
        equal(names(first["servers"]), ["mail@web1"])
        for name, level in (("db@web2", "ok"), ("db@web1", "ok"), ("db@web1", "critical"), ("mail@web1", "ok"),
                            ("mail@web1", "ok"), ("db@web1", "warning")):
            daemon.done("post", name, level + name, "--level", level)
        wanted = [("db@web1", "critical"), ("mail@web1", "ok"), ("db@web1", "warning")]
        seen = [next(events)["server"] for _ in wanted]
        equal([(server["name"], server["status"]["level"]) for server in seen], wanted)
        again = later.watch(all=True, host="web1", level="warning", since=first["cursor"])
        kinds = [next(again) for _ in range(len(wanted))]
        equal([event["server"]["revision"] for event in kinds], [server["revision"] for server in seen])


@test("list --watch with a level shows the servers that have it now")
def watched():
    with Daemon() as daemon:
        for name, level in SERVERS.items():
            daemon.done("post", name, "text", "--level", level)
        with daemon.follow("list", "--watch", "--json", "--level", "critical") as follower:
            equal(names(json.loads(follower.next())["servers"]), ["db@web2"])
            daemon.done("post", "db@web1", "down", "--level", "critical")
            equal(names(json.loads(follower.next())["servers"]), ["db@web1", "db@web2"])
            daemon.done("post", "db@web2", "up", "--level", "ok")
            eventually(lambda: names(json.loads(follower.next())["servers"]) == ["db@web1"], "db@web2 is gone from the list")


@test("a long list and a long snapshot come in messages of at most 1000 servers, which statusctl shows as one")
def long_lists():
    with Daemon("accept: any\nlimits: { servers: 3000 }\n") as daemon, daemon.connect() as connection, daemon.connect() as stream:
        wanted = [f"s{number:04d}" for number in range(2500)]
        for at in range(0, len(wanted), 100):
            for name in wanted[at:at + 100]:
                connection.send("Post", {"server": name, "text": "first"})
            for _ in range(100):
                assert "error" not in (reply := connection.receive()), reply
        replies = [reply["servers"] for reply in connection.more("List")]
        equal([len(reply) for reply in replies], [1000, 1000, 500, 0])
        equal([name for reply in replies for name in names(reply)], wanted)
        equal(names(connection.call("List")["servers"]), wanted, "one reply without more")
        events = stream.watch(all=True)
        pieces = [next(events) for _ in range(3)]
        equal([(piece["kind"], len(piece["servers"]), piece.get("continues")) for piece in pieces],
              [("snapshot", 1000, True), ("snapshot", 1000, True), ("snapshot", 500, None)])
        equal([name for piece in pieces for name in names(piece["servers"])], wanted)
        equal(len({str(piece["cursor"]) for piece in pieces}), 1, "cursors")
        equal(names(json.loads(daemon.done("list", "--json"))["servers"]), wanted)
        with daemon.follow("list", "--watch", "--json") as follower:
            equal(names(json.loads(follower.next())["servers"]), wanted, "list --watch")
            daemon.done("post", "s2400", "second")
            equal(next(events)["server"]["status"]["text"], "second")
            equal(names(json.loads(follower.next())["servers"]), wanted, "after a change")
