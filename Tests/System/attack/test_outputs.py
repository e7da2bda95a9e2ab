# SPDX-License-Identifier: Apache-2.0
"""Invariant 16 for the daemon's output: its readers may have stopped."""

import os
import threading
from contextlib import contextmanager

from harness.bystander import Bystander
from harness.daemon import Daemon
from harness.expect import contains, equal
from harness.runner import test

from .test_freezing import stop_and_time

TEXT = "x" * 1000


def post_changes(daemon, count):
    """Posts changes to so many servers; each is an entry in the log."""
    with daemon.connect() as connection:
        for number in range(count):
            connection.call("Post", {"server": f"server{number}", "text": f"{number} {TEXT}"})
            connection.call("Post", {"server": f"server{number}", "text": f"again {number} {TEXT}"})


@contextmanager
def unread(configuration):
    """A daemon whose standard error nobody reads, and the other end of that pipe."""
    reading, writing = os.pipe()
    with Daemon(configuration, start=False) as daemon:
        daemon.start(stderr=writing)
        os.close(writing)
        yield daemon, reading


@test("an unread standard error delays nobody; once it is read, it says how many messages were lost")
def unread_standard_error():
    with unread("accept: any\nlimits: { servers: 5000 }\n") as (daemon, reading):
        with Bystander(daemon) as bystander:
            post_changes(daemon, 2200)
            bystander.finish("standard error that nobody reads")
        text = []
        reader = threading.Thread(target=lambda: text.append(open(reading, encoding="utf-8", errors="replace").read()))
        reader.start()
        daemon.done("post", "last", "the last line")
        daemon.done("post", "last", "the very last line")
        equal(daemon.stop(), 0, "exit status")
        reader.join()
        contains(text[0], "older messages were lost", "last: the very last line")


@test("a standard error that is never read does not delay the shutdown")
def unread_at_the_end():
    with unread("accept: any\n") as (daemon, reading):
        post_changes(daemon, 200)
        stop_and_time(daemon)
    os.close(reading)


@test("a standard error whose reader has left neither ends the daemon nor changes its exit status")
def left_standard_error():
    with unread("accept: any\n") as (daemon, reading):
        os.close(reading)
        post_changes(daemon, 2)
        daemon.done("post", "db", "still here")
        equal(daemon.stop(), 0, "exit status")


@test("a service manager that does not read delays neither clients nor the shutdown")
def unread_manager():
    with Daemon("select: db\nservers: { db: { push: true }, web: { push: true } }\n") as daemon:
        daemon.manager.stop_reading()
        with Bystander(daemon) as bystander, daemon.connect() as connection:
            # Each switch is reported at once. The receiver's queue holds ten messages, or a few hundred.
            for number in range(600):
                connection.send("Select", {"server": ("db", "web")[number % 2]}, oneway=True)
                connection.call("Describe")
            daemon.done("post", "db", "Signed In")
            bystander.finish("a service manager that does not read")
        stop_and_time(daemon)
