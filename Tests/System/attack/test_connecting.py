# SPDX-License-Identifier: Apache-2.0
"""Clients that connect as fast as they can, to keep others from connecting."""

import contextlib
import fcntl
import os
import socket
import sys
import threading
import time

from harness.attacker import Attacker, need_root
from harness.daemon import Daemon
from harness.expect import equal, eventually
from harness.runner import test

from .test_freezing import CONFIGURATION, stop_and_time

FLOODERS = 16
DURATION = 5
"""The seconds for which new clients connect during the attack."""
BACKLOG = 128
ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="varlink")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a program like a service manager that listens for it on a socket."""


@contextlib.contextmanager
def activated(configuration):
    """A daemon, not started, whose control socket is open already."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        # Not the number that the socket will have.
        number = fcntl.fcntl(listener, fcntl.F_DUPFD, 10)
        stack.callback(os.close, number)
        prefix = (sys.executable, "-c", ACTIVATE, str(number))
        daemon = stack.enter_context(Daemon(configuration, start=False, prefix=prefix, pass_fds=[number]))
        listener.bind(daemon.socket)
        os.chmod(daemon.socket, 0o666)
        listener.listen(BACKLOG)
        yield daemon


def close_inherited():
    """Closes the descriptors inherited from the test, which would keep the listening socket open. Clients would then wait
    forever for an accept."""
    os.closerange(3, 256)


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def connect_often(path):
    """Makes children connect as fast as they can."""
    os.nice(19)
    for _ in range(FLOODERS):
        if os.fork() == 0:
            while True:
                with contextlib.suppress(OSError):
                    kept = [connect(path) for _ in range(100)]


@test("clients that connect as fast as they can do not keep root from connecting", limit=120)
def refusals():
    need_root()
    with activated(CONFIGURATION) as daemon, Attacker(connect_often, daemon.socket) as attacker:
        attacker.wait()
        daemon.start()
        times, end = [], time.monotonic() + DURATION
        while time.monotonic() < end:
            began = time.monotonic()
            equal(daemon.ctl("list").status, 0)
            times.append(time.monotonic() - began)
        print(f"     statusctl as root: worst {1000 * max(times):.0f} ms of {len(times)}", flush=True)
        stop_and_time(daemon)


@test("a flood of clients does not keep a daemon with an invalid configuration from starting once it is corrected",
      limit=120)
def failed_start():
    need_root()

    def attack(daemon):
        close_inherited()
        # The failing start has a client at once.
        first = connect(daemon.socket)
        connect_often(daemon.socket)
        return first

    def correct():
        eventually(lambda: (daemon.folder / "log").exists() and "servers" in daemon.log(), "the error in the log")
        daemon.file.write_text(CONFIGURATION)

    with activated("servers: wrong\n") as daemon:
        correction = threading.Thread(target=correct)
        with Attacker(attack, daemon) as attacker:
            attacker.wait()
            correction.start()
            daemon.start()
            correction.join()
        stop_and_time(daemon)
