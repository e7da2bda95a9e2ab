# SPDX-License-Identifier: Apache-2.0
"""Unconfigured servers: a post adds them, and `forget` removes them."""

import json
import os

from harness.attacker import as_user, need_root
from harness.daemon import NOBODY, Daemon
from harness.expect import contains, equal, eventually, one_sentence
from harness.runner import test
from harness.varlink import VarlinkError


def names(daemon):
    with daemon.connect() as connection:
        return [server["name"] for server in connection.call("List")["servers"]]


@test("forget removes a server that a post added, and its notify socket, and notifies its watchers; a new post adds it again")
def forget():
    with Daemon("accept: any\nservers: { db: { push: true } }\n") as daemon, daemon.connect() as watcher:
        daemon.done("post", "visitor", "here")
        daemon.done("select", "visitor")
        events = watcher.watch(all=True)
        equal(next(events)["kind"], "snapshot")
        daemon.done("forget", "visitor")
        equal([next(events)["kind"] for _ in range(2)], ["selected", "removed"])
        equal(names(daemon), ["db"])
        assert not os.path.exists(daemon.notify_path("visitor"))
        contains(one_sentence(daemon.ctl("forget", "visitor"), 4), "visitor")
        daemon.done("post", "visitor", "back")
        equal(daemon.text("visitor"), "back")


@test("a configured server cannot be forgotten, only removed from its file")
def forget_configured():
    with Daemon("servers: { db: { push: true } }\n") as daemon:
        contains(one_sentence(daemon.ctl("forget", "db"), 1), str(daemon.file), "statusctl reload")
        error = json.loads(daemon.ctl("forget", "db", "--json").out)
        equal(error["error"], "org.statusd.monitor.IsConfigured")
        equal(names(daemon), ["db"])


@test("forget requires the right to change something")
def forget_denied():
    def forget_visitor():
        with daemon.connect() as connection:
            try:
                connection.call("Forget", {"server": "visitor"})
            except VarlinkError as error:
                return error.name
        return "forgotten"

    need_root()
    with Daemon() as daemon:
        daemon.done("post", "visitor", "here")
        equal(as_user(NOBODY, forget_visitor), "org.varlink.service.PermissionDenied")


@test("a reload with “accept: configured” removes unconfigured servers, and rejects their posts with that reason")
def no_longer_accepted():
    with Daemon("accept: any\nservers: { db: { push: true } }\n") as daemon:
        daemon.done("post", "visitor", "here")
        daemon.file.write_text("accept: configured\nservers: { db: { push: true } }\n")
        contains(daemon.done("reload", "--json"), '"removed":["visitor"]')
        equal(names(daemon), ["db"])
        refusal = one_sentence(daemon.ctl("post", "visitor", "here"), 4)
        contains(refusal, "cannot post to visitor: “accept: configured” allows only configured servers")


@test("a changed select: takes effect on reload, whatever was selected meanwhile; an unchanged one does not")
def changed_selection():
    servers = "servers: { a: { push: true }, b: { push: true }, c: { push: true } }\n"
    with Daemon("select: a\n" + servers) as daemon:
        daemon.done("select", "c")
        daemon.file.write_text("select: a\n" + servers + "defaults: { placeholder: none }\n")
        daemon.done("reload")
        equal(daemon.describe()["name"], "c")
        daemon.file.write_text("select: b\n" + servers)
        daemon.done("reload")
        equal(daemon.describe()["name"], "b")


@test("a check that is removed and added again while it runs never runs twice at once")
def no_overlap():
    with Daemon("servers: {}\n") as daemon:
        log = daemon.folder / "runs"
        script = daemon.folder / "plugin"
        # The lock is released with the last process that has it open.
        script.write_text(f"#!/bin/sh\nexec 9>{log}.lock\nflock -n 9 || echo overlap >>{log}\ntrap '' TERM\n"
                          f"echo begin >>{log}\nsleep 5\n")
        script.chmod(0o755)
        check = f"servers: {{ disk: {{ exec: [{script}], interval: 1h }} }}\n"
        for text in (check, "servers: {}\n", check):
            daemon.file.write_text(text)
            daemon.done("reload")
            if text == check:
                eventually(lambda: log.exists() and log.read_text().count("begin") >= 1, "a run")
        eventually(lambda: log.read_text().count("begin") == 2, "a second run")
        equal(log.read_text(), "begin\nbegin\n")
