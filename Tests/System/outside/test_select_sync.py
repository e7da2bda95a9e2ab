# SPDX-License-Identifier: Apache-2.0
"""Invariant 2: select is synchronous. Once it has returned, no client reads the previously selected server."""

import itertools

from harness.daemon import Daemon
from harness.expect import contains, equal
from harness.runner import test

from .test_switch import posting


def select_and_read(rounds):
    """Selects, then reads the status on another connection and the STATUS= that the service manager got."""
    with Daemon() as daemon, posting(daemon), daemon.connect() as control, daemon.connect() as other:
        for server in itertools.islice(itertools.cycle(("alpha", "bravo")), rounds):
            control.call("Select", {"server": server})
            equal(other.call("Describe")["server"]["name"], server, "status on another connection")
            told = daemon.manager.status()
            assert told and told.startswith(f"{server}: {server} says "), f"selected {server}, STATUS={told}"


@test("after each of a thousand selects, other connections and STATUS= show the new server", 120)
def thousand_selects():
    select_and_read(1000)


@test("after statusctl select, statusctl status and STATUS= show the new server")
def by_command():
    with Daemon() as daemon:
        for server in ("alpha", "bravo"):
            daemon.done("post", server, f"{server} is well")
        for server in itertools.islice(itertools.cycle(("alpha", "bravo")), 50):
            daemon.done("select", server)
            equal(daemon.manager.status(), f"{server}: {server} is well", "STATUS=")
            assert f"{server} is well" in daemon.done("status")


@test("selecting the selected server again updates STATUS= to its newest status")
def again():
    with Daemon() as daemon, daemon.connect() as control:
        control.call("Post", {"server": "db", "text": "first"})
        for number in range(50):
            control.call("Post", {"server": "db", "text": f"status {number}"})
            control.call("Select", {"server": "db"})
            equal(daemon.manager.status(), f"db: status {number}", "STATUS=")


@test("STATUS= mentions an invalid configuration until it is corrected")
def complaints():
    with Daemon("select: db\nservers: { db: { push: true } }\n") as daemon:
        wrong = {"serverz: {}\n": "(the configuration was not reloaded; run “statusctl verify",
                 "select: db\nservers: { db: { push: true }, web: {} }\n": "(1 error in the configuration; run “statusctl verify"}
        for text, complaint in wrong.items():
            daemon.file.write_text(text)
            equal(daemon.ctl("reload").status, 78)
            contains(daemon.manager.status(), "db: no status yet " + complaint)
        daemon.file.write_text("select: db\nservers: { db: { push: true } }\n")
        daemon.done("reload")
        equal(daemon.manager.status(), "db: no status yet")
        for number in range(40):
            daemon.file.write_text(f"select: db\nservers: {{ db: {{ push: {('no', 'yes')[number % 2]} }} }}\n")
            daemon.ctl("reload")
            told = daemon.manager.status()
            equal(["push" in told, "1 error in the configuration" in told], [number % 2 == 0] * 2, told)


@test("without a selection, STATUS= is “no server selected” and status ends with 4")
def none_selected():
    with Daemon() as daemon:
        equal(daemon.manager.status(), "no server selected")
        daemon.done("post", "db", "Signed In")
        daemon.done("select", "db")
        equal([line for line in daemon.manager.lines() if line.startswith("STATUS=")],
              ["STATUS=no server selected", "STATUS=db: Signed In"])
        daemon.done("select", "--none")
        equal(daemon.manager.status(), "no server selected")
        equal(daemon.ctl("status").status, 4)


@test("“select:” takes effect when its server appears, unless a user has selected before")
def selects_late():
    with Daemon("accept: any\nselect: db\n") as daemon:
        daemon.done("post", "web", "Serving")
        equal(daemon.ctl("status").status, 4)
        daemon.done("post", "db", "Signed In")
        assert "db: Signed In" in daemon.done("status")
    with Daemon("accept: any\nselect: db\n") as daemon:
        daemon.done("post", "web", "Serving")
        daemon.done("select", "web")
        daemon.done("post", "db", "Signed In")
        assert "web: Serving" in daemon.done("status")


@test("STATUS= is updated at most ten times a second and ends with the newest status")
def newest_wins():
    with Daemon() as daemon, daemon.connect() as control:
        control.call("Post", {"server": "db", "text": "first"})
        control.call("Select", {"server": "db"})
        before = len(daemon.manager.messages())
        for number in range(5000):
            control.call("Post", {"server": "db", "text": f"status {number}"})
        daemon.manager.wait_for("STATUS=db: status 4999")
        told = [line for message in daemon.manager.messages()[before:] for line in message if line.startswith("STATUS=")]
        assert len(told) < 200, f"told {len(told)} times of 5000"
