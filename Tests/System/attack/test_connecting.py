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

from harness.attacker import Attacker, need_root
from harness.bystander import Bystander, timed
from harness.daemon import NOBODY, Daemon, environment
from harness.expect import equal, eventually
from harness.runner import test

from .test_freezing import CONFIGURATION, stop_and_time

SLEEPERS = 3000
"""The processes of an attacker that are signalled whenever the daemon sends to its sockets or closes them: some 1.5 ms each time."""
FLOODERS = 16
DURATION = 5
"""Seconds for which new clients connect meanwhile."""
PLACES = 128
"""The connections that one user may have."""
BACKLOG = 128
ACTIVATE = """
import os, sys
for place, number in enumerate(sys.argv[1].split(",")):
    os.dup2(int(number), 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES="varlink:privileged")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a program as a service manager does that listens for it on two sockets."""


@contextlib.contextmanager
def activated(configuration):
    """A daemon, not started, whose control socket and that for privileged clients are open before it is."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
        # Not one of the numbers that they will have.
        numbers = [fcntl.fcntl(listener, fcntl.F_DUPFD, 10) for listener in listeners]
        for number in numbers:
            stack.callback(os.close, number)
        prefix = (sys.executable, "-c", ACTIVATE, ",".join(map(str, numbers)))
        daemon = stack.enter_context(Daemon(configuration, start=False, prefix=prefix, pass_fds=numbers))
        for listener, path, mode in zip(listeners, (daemon.socket, privileged(daemon)), (0o666, 0o600)):
            listener.bind(path)
            os.chmod(path, mode)
            listener.listen(BACKLOG)
        yield daemon


def privileged(daemon):
    """The path of the socket for privileged clients."""
    return f"{daemon.socket}.privileged"


def close_inherited():
    """Closes what a process has of the test: it would keep the listening sockets open, and wait for ever to be accepted."""
    os.closerange(3, 256)


def list_as_root(daemon):
    """statusctl, which must succeed."""
    result = daemon.ctl("list", env=environment(STATUSD_ADDRESS=f"unix:{privileged(daemon)}"))
    equal((result.status, result.err), (0, ""))


@contextlib.contextmanager
def sleepers():
    """Starts a group of processes that a signal reaches one by one, and does nothing to."""
    def prepare():
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])

    script = f"i=0; while [ $i -lt {SLEEPERS} ]; do sleep 60 & i=$((i + 1)); done"
    shell = subprocess.Popen(["sh", "-c", script], user=NOBODY, group=NOBODY, extra_groups=(), preexec_fn=prepare)
    try:
        equal(shell.wait(), 0, "exit status")
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
    """Has children connect as fast as they can, until this process ends."""
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


@test("clients that are refused slowly, since thousands of processes are told of it, do not keep privileged ones from connecting", limit=120)
def slow_refusals():
    need_root()

    def attack(daemon, group):
        close_inherited()
        kept = [slow_socket(daemon, group) for _ in range(PLACES)]
        connect_often(daemon, group)
        return kept

    with activated(CONFIGURATION) as daemon:
        daemon.start()
        with sleepers() as group, Attacker(attack, daemon, group) as attacker:
            attacker.wait()
            with Bystander(daemon) as bystander:
                end, times = time.monotonic() + DURATION, []
                while time.monotonic() < end:
                    times.append(timed(list_as_root, daemon))
                bystander.finish("connections that are refused slowly")
            print(f"     statusctl on the socket for privileged clients: worst {1000 * max(times):.0f} ms of {len(times)}", flush=True)
        stop_and_time(daemon)


@test("a flood of clients does not keep a daemon with a wrong configuration from starting once that is mended", limit=120)
def failed_start():
    need_root()

    def attack(daemon, group):
        close_inherited()
        # The start that fails has a client at once.
        first = slow_socket(daemon, group)
        connect_often(daemon, group)
        return first

    def mend():
        eventually(lambda: (daemon.folder / "log").exists() and "servers" in daemon.log(), "the error in the log")
        daemon.file.write_text(CONFIGURATION)

    with activated("servers: wrong\n") as daemon:
        mending = threading.Thread(target=mend)
        with sleepers() as group, Attacker(attack, daemon, group) as attacker:
            attacker.wait()
            mending.start()
            daemon.start()
            mending.join()
        stop_and_time(daemon)
