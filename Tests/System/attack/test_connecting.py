# SPDX-License-Identifier: Apache-2.0
"""Clients that keep others from connecting, by the backlog of the socket that all of them connect to."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from harness.attacker import Attacker, as_user, need_root
from harness.bystander import Bystander, timed
from harness.daemon import NOBODY, Daemon
from harness.expect import contains, equal
from harness.runner import test

from .test_freezing import CONFIGURATION, stop_and_time

SLEEPERS = 3000
"""The processes of an attacker that are signalled whenever the daemon sends to its sockets or closes them: some 1.5 ms each time."""
FLOODERS = 16
DURATION = 5
"""Seconds for which new clients connect meanwhile."""
PLACES = 128
"""The connections that one user may have."""


def fill_backlog(daemon):
    """Connects until nobody else can, and keeps the connections."""
    kept = []
    with contextlib.suppress(BlockingIOError):
        while True:
            connection = socket.socket(socket.AF_UNIX)
            connection.setblocking(False)
            kept.append(connection)
            connection.connect(daemon.socket)
    return kept


@test("root connects while an ordinary user's connections fill the backlog of a daemon that accepts none")
def full_backlog():
    need_root()
    with Daemon(CONFIGURATION) as daemon:
        daemon.process.send_signal(signal.SIGSTOP)
        with Attacker(fill_backlog, daemon) as attacker:
            attacker.wait()
            with daemon.follow("list") as command:
                # So long a client waits for room in a backlog.
                time.sleep(6)
                daemon.process.send_signal(signal.SIGCONT)
                equal((command.wait(), command.errors), (0, []))


@contextlib.contextmanager
def sleepers():
    """Starts a group of processes that a signal reaches one by one, and does nothing to."""
    def prepare():
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])

    script = f"i=0; while [ $i -lt {SLEEPERS} ]; do sleep 60 & i=$((i + 1)); done"
    shell = subprocess.Popen(["sh", "-c", script], user=NOBODY, group=NOBODY, extra_groups=(), preexec_fn=prepare)
    equal(shell.wait(), 0, "exit status")
    try:
        yield shell.pid
    finally:
        os.killpg(shell.pid, signal.SIGKILL)


def slow_socket(daemon, group):
    """Connects, so that whatever the daemon does to its end is signalled to each process of a group (fcntl(2), F_SETOWN)."""
    connection = socket.socket(socket.AF_UNIX)
    fcntl.fcntl(connection, fcntl.F_SETOWN, -group)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    connection.connect(daemon.socket)
    return connection


def connect_often(daemon, group):
    """Has children connect as fast as they can."""
    attacker = os.getpid()
    os.nice(19)
    for _ in range(FLOODERS):
        if os.fork() == 0:
            try:
                while os.getppid() == attacker:
                    with contextlib.suppress(OSError):
                        kept = [slow_socket(daemon, group) for _ in range(100)]
                del kept
            finally:
                os._exit(0)


@test("clients that are refused slowly, since thousands of processes are told of it, do not keep root from connecting", limit=120)
def slow_refusals():
    need_root()

    def attack(daemon, group):
        kept = [slow_socket(daemon, group) for _ in range(PLACES)]
        connect_often(daemon, group)
        return kept

    def list_as_root():
        daemon.done("list")

    with Daemon(CONFIGURATION) as daemon:
        with sleepers() as group, Attacker(attack, daemon, group) as attacker:
            attacker.wait()
            with Bystander(daemon) as bystander:
                end, times = time.monotonic() + DURATION, []
                while time.monotonic() < end:
                    times.append(timed(list_as_root))
                bystander.finish("connections that are refused slowly")
            print(f"     statusctl as root meanwhile: worst {1000 * max(times):.0f} ms of {len(times)}", flush=True)
        stop_and_time(daemon)


@test("only root, the daemon's user and its group can connect to the socket for privileged clients")
def privileged_socket():
    need_root()

    def connect(path, *groups):
        os.setgroups(groups)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)

    def is_refused(path, *groups):
        with contextlib.suppress(PermissionError):
            as_user(0, connect, path, *groups)
            return False
        return True

    with Daemon(CONFIGURATION) as daemon:
        equal([is_refused(daemon.socket), is_refused(f"{daemon.socket}.privileged"), is_refused(f"{daemon.socket}.privileged", os.getgid())],
              [False, True, False])


ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="varlink")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a program as a service manager does that listens for it."""


@test("a flood of clients does not keep a daemon with a wrong configuration from starting once that is mended", limit=120)
def failed_start():
    need_root()
    with socket.socket(socket.AF_UNIX) as listener:
        number = listener.fileno()
        with Daemon("servers: wrong\n", start=False, prefix=(sys.executable, "-c", ACTIVATE, str(number)), pass_fds=(number,)) as daemon:
            listener.bind(daemon.socket)
            os.chmod(daemon.socket, 0o666)
            listener.listen(128)
            mend = threading.Timer(1, lambda: daemon.file.write_text(CONFIGURATION))
            with sleepers() as group, Attacker(connect_often, daemon, group) as attacker:
                attacker.wait()
                mend.start()
                daemon.start()
            contains(daemon.log(), "error")
            stop_and_time(daemon)
