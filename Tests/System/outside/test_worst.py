# SPDX-License-Identifier: Apache-2.0
"""“select: worst”: the selection follows whichever server is the worst."""

from harness.daemon import Daemon
from harness.expect import contains, equal, eventually
from harness.runner import test
from outside.test_switch import Checker

CONFIGURATION = """\
select: worst
servers:
  alpha: { push: true }
  bravo: { push: true }
  mail: { push: true }
"""


def selects(daemon, name):
    """Waits until a server is selected, and is shown as the worst one."""
    eventually(lambda: daemon.describe()["name"] == name, f"the selection of {name}")
    contains(daemon.ctl("status").out, "Selected:     yes, as the worst server")


@test("the worst server is selected, one as bad does not take its place, and the last one stays when all are ok")
def follows():
    with Daemon(CONFIGURATION) as daemon:
        selects(daemon, "alpha")
        daemon.done("post", "mail", "queue is long", "--level=warning")
        selects(daemon, "mail")
        daemon.done("post", "bravo", "slow", "--level=warning")
        daemon.done("post", "alpha", "down", "--level=critical")
        selects(daemon, "alpha")
        daemon.done("post", "alpha", "up")
        selects(daemon, "bravo")
        for name in ("bravo", "mail"):
            daemon.done("post", name, "up")
        selects(daemon, "mail")


@test("over two thousand moves, no event of the server that was the worst follows the move, and none is missing")
def switches():
    with Daemon(CONFIGURATION) as daemon, daemon.connect() as control, daemon.connect() as connection:
        def post(name, level, number):
            return control.call("Post", {"server": name, "text": f"{name} says {number}", "level": level})["revision"]

        for name in ("alpha", "bravo", "mail"):
            post(name, "ok", 0)
        post("alpha", "critical", 0)
        eventually(lambda: control.call("Describe")["server"]["name"] == "alpha", "the selection of alpha")
        events, checker = connection.watch(), Checker()
        checker.take(next(events))
        for number in range(1, 1001):
            for worst, other in (("bravo", "alpha"), ("alpha", "bravo")):
                post(worst, "critical", number)
                recovery = post(other, "ok", number)
                seen = []
                while checker.current != worst:
                    event = next(events)
                    checker.take(event)
                    seen.append((event["kind"], event["cursor"]["revision"]))
                equal(seen[0], ("changed", recovery), "the event before the move")
                equal(seen[1][0], "selected")
        equal(checker.selected, 2000)


@test("a selection by hand holds, also over a restart, until worst is selected, and that holds, too")
def overrides():
    with Daemon(CONFIGURATION) as daemon:
        daemon.done("post", "mail", "down", "--level=critical")
        selects(daemon, "mail")
        daemon.stop()
        daemon.start()
        selects(daemon, "mail")
        daemon.done("select", "alpha")
        daemon.done("post", "bravo", "down", "--level=critical")
        contains(daemon.ctl("status").out, "Selected:     yes\n")
        daemon.stop()
        daemon.start()
        daemon.done("post", "bravo", "still down", "--level=critical")
        equal(daemon.describe()["name"], "alpha")
        daemon.done("select", "worst")
        selects(daemon, "bravo")
        daemon.done("post", "bravo", "up")
        selects(daemon, "mail")


@test("without “select: worst” it can be selected, too; a server of that name is just that server")
def by_name():
    with Daemon("accept: any\n") as daemon:
        daemon.done("post", "db", "up")
        daemon.done("select", "worst")
        daemon.done("post", "mail", "down", "--level=critical")
        selects(daemon, "mail")
        daemon.done("post", "worst", "hello")
        daemon.done("select", "worst")
        equal(daemon.describe()["name"], "worst")
        contains(daemon.ctl("status").out, "Selected:     yes\n")


@test("a reload with “select: worst” selects the worst server, and one without leaves it selected but follows no more")
def reloads():
    with Daemon(CONFIGURATION.replace("select: worst\n", "")) as daemon:
        daemon.done("post", "mail", "down", "--level=critical")
        daemon.file.write_text(CONFIGURATION)
        contains(daemon.done("reload"), "selected: mail")
        selects(daemon, "mail")
        daemon.file.write_text(CONFIGURATION.replace("select: worst\n", ""))
        daemon.done("reload")
        daemon.done("post", "mail", "up")
        daemon.done("post", "bravo", "down", "--level=critical")
        equal(daemon.describe()["name"], "mail")


@test("if the worst server is removed, the next one is selected")
def removal():
    with Daemon(CONFIGURATION + "accept: any\n") as daemon:
        daemon.done("post", "guest", "down", "--level=critical")
        selects(daemon, "guest")
        daemon.done("post", "mail", "slow", "--level=warning")
        daemon.done("forget", "guest")
        selects(daemon, "mail")
        daemon.file.write_text(CONFIGURATION.replace("  mail: { push: true }\n", ""))
        contains(daemon.done("reload"), "selected: alpha")
