# SPDX-License-Identifier: Apache-2.0
"""Groups: their status follows from other servers, in the same turn."""

import contextlib

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test

from .test_refresh import Gated

CONFIGURATION = """\
servers:
  all: { group: [shop, mail] }
  db: { push: true }
  mail: { push: true }
  shop: { group: [web, db] }
  spare: { group: { of: [web, db], critical: all } }
  web: { push: true }
"""


def text(daemon, name):
    """The level and the text of a server, or its phase and the reason."""
    state = daemon.describe(name)
    status = state.get("status")
    return f"{status['level']}: {status['text']}" if status else f"{state['phase']}: {state['message']}"


@test("in a stream of all servers, each change of a member is followed directly by its groups', and a list never contradicts them")
def same_turn():
    with Daemon(CONFIGURATION) as daemon, daemon.connect() as poster, daemon.connect() as connection, daemon.connect() as lister:
        equal(text(daemon, "all"), "empty: no status yet: mail, shop")
        for name in ("web", "db", "mail"):
            daemon.done("post", name, "up")
        equal(text(daemon, "all"), "ok: 2 ok")
        contains(daemon.done("status", "shop"), "2 ok", "group")
        events = connection.watch(all=True)
        next(events)
        for number in range(200):
            level = ("critical", "ok")[number % 2]
            poster.send("Post", {"server": "web", "text": f"says {number}", "level": level})
            servers = {server["name"]: server["status"]["level"] for server in lister.call("List")["servers"]}
            equal((servers["shop"], servers["all"]), (servers["web"], servers["web"]), servers)
            equal(servers["spare"], {"critical": "warning", "ok": "ok"}[servers["web"]])
            revision = poster.receive()["parameters"]["revision"]
            seen = [next(events) for _ in range(4)]
            equal([event["cursor"]["revision"] for event in seen], list(range(revision, revision + 4)))
            equal(seen[0]["server"]["name"], "web")
            equal({event["server"]["name"] for event in seen[1:]}, {"shop", "spare", "all"})
            names = [event["server"]["name"] for event in seen]
            assert names.index("all") > names.index("shop"), names
        poster.call("Post", {"server": "web", "text": "another text", "level": "ok"})
        poster.call("Post", {"server": "mail", "text": "is full", "level": "warning"})
        equal([next(events)["server"]["name"] for _ in range(3)], ["web", "mail", "all"], "a text alone changes no group")
        equal(text(daemon, "all"), "warning: 1 of 2 warning: mail")
        contains(one_sentence(daemon.ctl("post", "shop", "up"), 1), "the status of shop comes from group")
        contains(one_sentence(daemon.ctl("refresh", "shop"), 5), "shop")


@test("a reload changes a group once, with its new members, and a restart does not change it")
def reload():
    with Daemon(CONFIGURATION) as daemon, daemon.connect() as connection:
        for name in ("web", "db", "mail"):
            daemon.done("post", name, "up")
        events = connection.watch(all=True)
        next(events)
        daemon.file.write_text(CONFIGURATION.replace("[web, db] }", "[web, 'cache*'] }").replace("  db:", "  cache1: { push: true, was: db }\n  old:"))
        equal(daemon.ctl("reload").status, 0)
        daemon.done("post", "old", "end")
        seen = []
        while (event := next(events))["server"]["name"] != "old" or event["kind"] != "changed":
            seen.append(f"{event['kind']} {event['server']['name']}")
        # The other group lost db, which is no server any more; cache1 continues it.
        equal([line for line in seen if "shop" in line or "all" in line], [], seen)
        equal(text(daemon, "spare"), "warning: 1 of 2 unknown: db (no such server)")
        equal(text(daemon, "shop"), "ok: 2 ok")
        changed = daemon.describe("all")["status"]["changedAt"]
        daemon.stop()
        daemon.start()
        equal((daemon.describe("all")["status"]["changedAt"], text(daemon, "all")), (changed, "ok: 2 ok"))
        contains(daemon.done("history", "all"), "2 ok")


@test("a loop is an error with its way, file and line; the other groups work, and see the ones in the loop as unknown")
def loops():
    with Daemon(CONFIGURATION.replace("[web, db] }", "[web, all] }")) as daemon:
        result = daemon.ctl("verify", daemon.file)
        equal(result.status, 78)
        contains(result.err, f"{daemon.file}:2: server all: a group must not be a member of itself: all → shop → all",
                 f"{daemon.file}:5: server shop: a group must not be a member of itself: shop → all → shop")
        contains(daemon.describe("all")["message"], "must not be a member of itself")
        daemon.file.write_text(CONFIGURATION)
        daemon.done("reload")
        daemon.done("post", "web", "down", "--level=critical")
        equal(text(daemon, "all"), "critical: 1 of 2 critical: shop")


@test("a refresh of a group refreshes all members that can be, shares their checks, is shown, and returns when all have ended")
def refresh():
    with Gated("  other: { exec: [/bin/echo, fine] }\n  push: { push: true }\n  inner: { group: [disk, push] }\n"
               "  outer: { group: [inner, 'oth*'] }\n") as gated, contextlib.ExitStack() as stack:
        daemon = gated.daemon
        gated.open()
        for name in ("disk", "other"):
            daemon.done("wait", name, "--timeout", "15s")
        daemon.done("post", "push", "up")
        equal(text(daemon, "outer"), "ok: 2 ok")
        gated.close()
        before = gated.runs()
        first, second = (stack.enter_context(daemon.connect()) for _ in range(2))
        for client, name in ((first, "outer"), (second, "inner")):
            client.send("Refresh", {"server": name})
        with daemon.connect() as third:
            third.send("Refresh", {"server": "outer"})
        eventually(lambda: gated.runs() == before + 1, "the shared check of disk")
        equal({name: daemon.describe(name)["refreshing"] for name in ("outer", "inner", "disk", "push")},
              {"outer": True, "inner": True, "disk": True, "push": False})
        gated.open()
        for client in (first, second):
            equal(client.receive()["parameters"]["event"]["kind"], "refreshed")
        equal(gated.runs(), before + 1)
        equal([daemon.describe(name)["refreshing"] for name in ("outer", "inner", "disk")], [False] * 3)
        # The last caller's disconnecting cancels the checks of the members.
        gated.close()
        with daemon.connect() as client:
            client.send("Refresh", {"server": "outer"})
            eventually(lambda: gated.runs() == before + 2, "another check")
        eventually(lambda: not any(daemon.describe(name)["refreshing"] for name in ("outer", "inner", "disk")), "the end of the refresh")
